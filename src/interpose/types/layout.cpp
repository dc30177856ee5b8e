// Joins the blocks that a type's constructors name.
#include "interpose/types/layout.hpp"

#include <algorithm>
#include <optional>

#include "interpose/host/failure.hpp"
#include "interpose/types/blocks.hpp"

namespace omnes::interpose {

namespace {

class Collected {
 public:
  explicit Collected(std::size_t most) : most_(most) {}

  /// Adds an element of the type. Returns whether all is known of it, and there is room.
  bool add(MPI_Datatype type) {
    const int combiner = combiner_of(type);
    if (is_basic(combiner)) return add_basic(type);
    std::optional<MPI_Datatype> seen;
    Collected inner(most_);  // of that one
    return for_each_block(type, [&](const Block& block) {
      if (seen != block.type) {
        inner = Collected(most_);
        if (!inner.add(block.type)) return false;
      }
      seen = block.type;
      return add(block, inner.all_);
    });
  }

  std::vector<Strided> take() {
    std::size_t before = 0;
    for (Strided& blocks : all_) {
      blocks.before = before;
      before += blocks.block * blocks.count;
    }
    return std::move(all_);
  }

 private:
  bool add(const Block& block, const std::vector<Strided>& inner) {
    if (inner.size() == 1 && inner[0].count == 1)
      return add(block.displacement + inner[0].displacement, inner[0].block, block.extent,
                 static_cast<std::size_t>(block.length));
    for (MPI_Count i = 0; i < block.length && !inner.empty(); ++i)
      for (const Strided& of : inner)
        if (!add(block.displacement + i * block.extent + of.displacement, of.block, of.stride, of.count)) return false;
    return true;
  }

  /// One with a gap is a pair: a value, and at the end an index.
  bool add_basic(MPI_Datatype type) {
    MPI_Count size = 0;
    MPI_Aint lb = 0, extent = 0;
    if (host.Type_size_x(type, &size) != MPI_SUCCESS || host.Type_get_true_extent(type, &lb, &extent) != MPI_SUCCESS)
      throw Failure{MPI_ERR_TYPE};
    const std::size_t index = size == extent ? 0 : sizeof(int);
    return add(lb, static_cast<std::size_t>(size) - index, 0, 1) &&
           add(lb + extent - static_cast<std::ptrdiff_t>(index), index, 0, 1);
  }

  bool add(std::ptrdiff_t displacement, std::size_t block, std::ptrdiff_t stride, std::size_t count) {
    if (block == 0 || count == 0) return true;
    if (count > 1 && stride == static_cast<std::ptrdiff_t>(block)) {
      block *= count;
      count = 1;
    }
    const Strided next{displacement, block, stride, count};
    if (!all_.empty() && join(all_.back(), next)) return true;
    if (all_.size() == most_) return false;
    all_.push_back(next);
    return true;
  }

  std::vector<Strided> all_;
  std::size_t most_;
};

}  // namespace

std::vector<Strided> blocks_of(MPI_Datatype type, std::size_t most) {
  Collected collected(most);
  return collected.add(type) ? collected.take() : std::vector<Strided>();
}

}  // namespace omnes::interpose
