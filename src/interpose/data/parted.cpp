// Parts one by one.
#include "interpose/data/parted.hpp"

#include <algorithm>

namespace omnes::interpose {

void PartedView::have_room(std::size_t parts) {
  views_.reserve(parts);
  numbers_.resize(3 * parts);
  const std::span all(numbers_);
  bytes_ = all.first(parts);
  starts_ = all.subspan(parts, parts);
  before_ = all.last(parts);
}

const char* PartedView::add(const void* buffer, MPI_Count count, MPI_Datatype type, MPI_Count displacement,
                            bool in_bytes) {
  View view;
  const std::size_t part = views_.size();
  if (count != 0) {  // programs give empty parts any datatype, also the null one
    const View* const last = part > 0 && views_.back().info != nullptr ? &views_.back() : nullptr;
    if (last != nullptr && last->type == type && count > 0) {
      view = *last;
      view.resize(static_cast<std::size_t>(count));
    } else if (const char* reason = view.set(count, type)) {
      return reason;
    }
    if (buffer == MPI_IN_PLACE) return "MPI_IN_PLACE where it is not allowed";
    // From MPI_BOTTOM, a null address, displacements are addresses.
    const auto base = reinterpret_cast<std::uintptr_t>(buffer);
    const auto distance = static_cast<std::ptrdiff_t>(displacement) * (in_bytes ? 1 : view.info->extent);
    view.place_at(reinterpret_cast<std::byte*>(base + static_cast<std::uintptr_t>(distance)));
    if (!view.address && view.bytes > 0 && view.gapless) return "null buffer";
  }
  if (view.bytes > 0) {
    if (!first_) first_ = view.address;
    gapless_ = gapless_ && view.contiguous();
    in_row_ = in_row_ && view.contiguous() && view.address == first_ + total_;
  }
  before_[part] = total_;
  total_ += view.bytes;
  bytes_[part] = view.bytes;
  starts_[part] = view.bytes > 0 ? static_cast<std::size_t>(view.address - first_) : 0;
  views_.push_back(view);
  return nullptr;
}

const char* PartedView::set(const Parted& a, int n, const std::vector<int>* some) {
  if (n > 0 && (!a.counts || !a.displacements)) return "null counts or displacements";
  for (int i = 0; i < n; ++i)
    if (a.counts[i] < 0) return negative_count;
  given_ = n;
  const int count = some ? static_cast<int>(some->size()) : n;
  have_room(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const int part = some ? (*some)[i] : i;
    const MPI_Datatype type = a.types ? a.types[part] : a.type;
    if (const char* reason = add(a.buffer, a.counts[part], type, a.displacements[part], a.types != nullptr))
      return reason;
  }
  return nullptr;
}

const char* PartedView::set_equal(const void* buffer, MPI_Count count, MPI_Datatype type, const std::vector<int>& some,
                                  MPI_Count apart) {
  if (count < 0) return negative_count;
  have_room(some.size());
  for (const int part : some)
    if (const char* reason = add(buffer, count, type, part * apart, false)) return reason;
  return nullptr;
}

std::byte* PartedView::room(Staging& staging) const {
  const auto there = std::ranges::find_if(views_, [](const View& view) { return view.device != nullptr; });
  return there == views_.end() ? staging.room(total_) : staging.room(total_, there->device, there->address);
}

const std::byte* PartedView::packed(Staging& staging) const {
  if (in_row_) return first_;
  std::byte* const row = room(staging);
  std::byte* to = row;
  devices::Copies copies;
  for (const View& view : views_) {
    if (view.bytes > 0) view.pack(to, copies);
    to += view.bytes;
  }
  copies.finish();
  return row;
}

void PartedView::move(std::ptrdiff_t bytes_on) {
  for (View& view : views_) view.move(bytes_on);
  if (first_ != nullptr) first_ += bytes_on;
}

void PartedView::land(const std::byte* landed) const {
  if (in_row_) return;
  devices::Copies copies;
  for (const View& view : views_) {
    if (view.bytes > 0) view.unpack(landed, copies);
    landed += view.bytes;
  }
  copies.finish();
}

void PartedView::keep(int i, std::byte* landed) const {
  if (!in_row_ && views_[i].bytes > 0) views_[i].pack(landed + before_[i]);
}

bool PartedView::has_parts() const { return std::ranges::all_of(views_, &View::has_parts); }

/// Calls move(view, bytes from there on, how many) for the parts that have some of these.
template <class Move>
void PartedView::for_each_part(std::size_t offset, std::size_t length, Move move) const {
  if (length == 0) return;
  auto part = static_cast<std::size_t>(std::ranges::upper_bound(before_, offset) - before_.begin()) - 1;
  for (; length > 0; ++part) {
    const std::size_t inside = offset - before_[part], some = std::min(bytes_[part] - inside, length);
    if (some > 0) move(views_[part], inside, some);
    offset += some;
    length -= some;
  }
}

void PartedView::pack_part(std::size_t offset, std::byte* to, std::size_t length) const noexcept {
  for_each_part(offset, length, [&](const View& view, std::size_t inside, std::size_t some) {
    view.pack_part(inside, to, some);
    to += some;
  });
}

void PartedView::unpack_part(std::size_t offset, const std::byte* from, std::size_t length) const noexcept {
  for_each_part(offset, length, [&](const View& view, std::size_t inside, std::size_t some) {
    view.unpack_part(inside, from, some);
    from += some;
  });
}

}  // namespace omnes::interpose
