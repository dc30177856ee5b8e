// Parts one by one.
#include "interpose/data/parted.hpp"

#include <algorithm>
#include <numeric>

namespace omnes::interpose {

const char* PartedView::add(const void* buffer, MPI_Count count, MPI_Datatype type, MPI_Count displacement,
                            bool in_bytes) {
  View view;
  if (count != 0) {  // programs give empty parts any datatype, also the null one
    if (const char* reason = view.set(count, type)) return reason;
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
  total_ += view.bytes;
  bytes_.push_back(view.bytes);
  starts_.push_back(view.bytes > 0 ? static_cast<std::size_t>(view.address - first_) : 0);
  views_.push_back(view);
  return nullptr;
}

const char* PartedView::set(const Parted& a, int n, const std::vector<int>* some) {
  if (n > 0 && (!a.counts || !a.displacements)) return "null counts or displacements";
  for (int i = 0; i < n; ++i)
    if (a.counts[i] < 0) return negative_count;
  given_ = n;
  const int count = some ? static_cast<int>(some->size()) : n;
  views_.reserve(count);
  bytes_.reserve(count);
  for (int i = 0; i < count; ++i) {
    const int part = some ? (*some)[i] : i;
    const MPI_Datatype type = a.types ? a.types[part] : a.type;
    if (const char* reason = add(a.buffer, a.counts[part], type, a.displacements[part], a.types != nullptr))
      return reason;
  }
  return nullptr;
}

const char* PartedView::set_equal(const void* buffer, MPI_Count count, MPI_Datatype type,
                                  const std::vector<int>& some) {
  if (count < 0) return negative_count;
  for (const int part : some)
    if (const char* reason = add(buffer, count, type, part * count, false)) return reason;
  return nullptr;
}

std::size_t PartedView::before(int i) const {
  return std::accumulate(bytes_.begin(), bytes_.begin() + i, std::size_t{0});
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
  if (!in_row_ && views_[i].bytes > 0) views_[i].pack(landed + before(i));
}

}  // namespace omnes::interpose
