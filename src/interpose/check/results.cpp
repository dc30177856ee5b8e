// The host's calls, and what may differ from them.
#include "interpose/check/results.hpp"

#include <sched.h>

#include <climits>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <limits>
#include <numeric>

#include "interpose/check/names.hpp"
#include "interpose/data/view.hpp"
#include "interpose/host/inside.hpp"
#include "interpose/types/holds.hpp"

namespace omnes::interpose::check {

namespace {

bool is_predefined(MPI_Op op) { return number_of(op) <= 14; }

View view_of(const Side& side, int part) {
  View view;
  if (side.parts <= part || !side.has(part) || side.count_of(part) <= 0) return view;
  if (view.set(side.address_of(part), side.count_of(part), side.type_of(part)) != nullptr) return {};
  return view;
}

/// One part behind the other, packed.
void pack(const Side& side, Twin::Row& row) {
  for (int part = 0; part < side.parts; ++part) {
    const View view = view_of(side, part);
    row.add(view.bytes);
    if (view.bytes > 0) view.pack(row.data.data() + row.starts.back());
  }
}

void make_room(const Side& side, Twin::Row& row) {
  for (int part = 0; part < side.parts; ++part) row.add(view_of(side, part).bytes);
}

/// The elements of a reduction as they lie in memory, from where the first begins.
constexpr std::size_t aligned = 64;
std::byte* elements_at(Twin::Row& row, const View& view) {
  const auto at = reinterpret_cast<std::uintptr_t>(row.data.data());
  return row.data.data() + (aligned - at % aligned) % aligned - (view.info ? view.info->true_lb : 0);
}
std::size_t span_of(const View& view) {
  if (view.count == 0) return 0;
  return static_cast<std::size_t>(static_cast<MPI_Aint>(view.count - 1) * view.info->extent + view.info->true_extent);
}
void copy_elements(const View& view, Twin::Row& row) {
  row.data.resize(span_of(view) + 2 * aligned);
  if (view.count == 0) return;
  std::byte* const to = elements_at(row, view);
  if (view.gapless)
    view.pack(to);
  else
    std::memcpy(to + view.info->true_lb, view.address + view.info->true_lb, span_of(view));
}

View whole_view(const Side& side, MPI_Count count) {
  View view;
  if (count > 0 && view.set(side.buffer, count, side.type) != nullptr) return {};
  return view;
}

template <class Number>
void make_absolute(std::byte* at, std::size_t bytes) {
  for (std::size_t i = 0; i + sizeof(Number) <= bytes; i += sizeof(Number)) {
    Number number;
    std::memcpy(&number, at + i, sizeof number);
    number = std::fabs(number);
    std::memcpy(at + i, &number, sizeof number);
  }
}

/// Calls use(Number{}) for the numbers that elements of the type consist of, if these have a fraction.
template <class Use>
bool with_numbers(std::uint8_t type, Use use) {
  const bool complex = basic_of(type) == Basic::complex;
  if (!complex && basic_of(type) != Basic::floating) return false;
  switch (static_cast<std::size_t>(complex ? size_of(type) / 2 : size_of(type))) {
    case sizeof(float): use(float{}); return true;
    case sizeof(double): use(double{}); return true;
    case sizeof(long double): use(static_cast<long double>(0)); return true;
    default: return false;
  }
}

template <class Number>
std::string text_of(Number number) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*Lg", std::numeric_limits<Number>::max_digits10,
                static_cast<long double>(number));
  return text;
}

std::string text_of_bytes(const std::byte* at, std::uint8_t type, std::size_t size) {
  if (basic_of(type) == Basic::integer && size <= sizeof(long long)) {
    unsigned long long bits = 0;
    std::memcpy(&bits, at, size);
    const int unused = static_cast<int>(sizeof bits - size) * 8;
    return std::to_string(static_cast<long long>(bits << unused) >> unused);
  }
  std::string text = "0x";
  for (std::size_t i = 0; i < std::min<std::size_t>(size, 16); ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(at[i]));
    text += digits;
  }
  return text;
}

/// How far two results of a reduction of p numbers may be apart.
struct Tolerance {
  bool exact = true;
  bool of_sum = false;       ///< by the sum of absolute values
  bool of_product = false;   ///< relative
  bool of_programs = false;  ///< relative, by the root of the precision
};

template <class Number>
bool are_close(Number ours, Number theirs, Number magnitude, const Tolerance& tolerance, int p, Number norm) {
  if (ours == theirs || (ours != ours && theirs != theirs)) return true;
  constexpr Number precision = std::numeric_limits<Number>::epsilon();  // 2 u
  const Number apart = std::fabs(ours - theirs);
  if (tolerance.exact) return false;
  if (!std::isfinite(ours) || !std::isfinite(theirs))
    return tolerance.of_sum ? !std::isfinite(magnitude) : true;  // what overflows in one order need not in another
  if (tolerance.of_sum) return apart <= static_cast<Number>(p) * precision * magnitude;
  const Number largest = std::fmax(norm, std::numeric_limits<Number>::min());
  if (tolerance.of_product) return apart <= static_cast<Number>(8 * p) * precision * largest;
  return apart <= std::sqrt(precision) * largest;
}

}  // namespace

void Twin::Row::add(std::size_t more) {
  const std::size_t before = data.size();
  starts.push_back(static_cast<int>(before));
  bytes.push_back(static_cast<int>(more));
  data.resize(before + more);
}

Twin::Twin(State& its_state, MPI_Comm its_comm, const Call& its_call)
    : state(its_state.shared_from_this()), comm(its_comm), call(its_call) {
  for (MPI_Request& request : requests) request = handles.request_null;
  for (const Side* side : {&call.send, &call.recv})
    for (int part = 0; part < (side->types ? side->parts : std::min(side->parts, 1)); ++part)
      if (const MPI_Datatype type = side->type_of(part); type != handles.type_null && !predefined_type(type)) {
        holds::take_type(type);
        held.push_back(type);
      }
  if (call.reduces && !is_predefined(call.op)) holds::take_op(call.op);
}

Twin::~Twin() {
  for (const MPI_Datatype type : held) holds::give_back_type(type);
  if (call.reduces && !is_predefined(call.op)) holds::give_back_op(call.op);
}

std::shared_ptr<Twin> Twin::start(State& state, MPI_Comm comm, Operation operation, const Call& call) {
  using enum Operation;
  const int p = state.p, root = call.root;
  const bool has_root = root != -1;
  if (operation == barrier || (has_root && (root < 0 || root >= p))) return nullptr;
  if (call.match == Call::Match::all &&
      (call.whole.unknown || call.whole.bytes > INT_MAX / 2 / static_cast<unsigned>(p)))
    return nullptr;
  auto twin = std::make_shared<Twin>(state, comm, call);
  Row &s = twin->send, &r = twin->recv;
  MPI_Request* const request = &twin->requests[0];
  const InsideHost inside;
  int code = MPI_SUCCESS;
  if (call.reduces) {
    const Side& side = call.send.parts > 0 ? call.send : call.recv;
    const MPI_Datatype type = side.type;
    std::vector<int>& counts = twin->counts;
    MPI_Count n = side.count;  // of the contribution
    if (operation == reduce_scatter) {
      for (int i = 0; i < p; ++i) counts.push_back(static_cast<int>(call.counts[i]));
      n = std::accumulate(counts.begin(), counts.end(), MPI_Count{0});
    } else if (operation == reduce_scatter_block) {
      n = side.count * p;
    }
    const View given = whole_view(side, n), result = whole_view(call.recv, call.recv.parts > 0 ? call.recv.count : 0);
    copy_elements(given, s);
    copy_elements(result, r);
    const auto begin = [&](Row& from, Row& to, MPI_Request* made) -> int {
      const void* const of = elements_at(from, given);
      void* const into = elements_at(to, result);
      const int count = static_cast<int>(side.count);
      switch (operation) {
        case reduce: return host.Ireduce(of, into, count, type, call.op, root, comm, made);
        case allreduce: return host.Iallreduce(of, into, count, type, call.op, comm, made);
        case scan: return host.Iscan(of, into, count, type, call.op, comm, made);
        case exscan: return host.Iexscan(of, into, count, type, call.op, comm, made);
        case reduce_scatter_block:
          return host.Ireduce_scatter_block(of, into, static_cast<int>(call.recv.count), type, call.op, comm, made);
        default: return host.Ireduce_scatter(of, into, counts.data(), type, call.op, comm, made);
      }
    };
    code = begin(s, r, request);
    if (code == MPI_SUCCESS && call.op == MPI_SUM && with_numbers(call.whole.type, [&](auto number) {
          copy_elements(given, twin->magnitudes);
          make_absolute<decltype(number)>(elements_at(twin->magnitudes, given), span_of(given));
          twin->sums.data.resize(r.data.size());
        }))
      code = begin(twin->magnitudes, twin->sums, &twin->requests[1]);
    twin->works = code == MPI_SUCCESS;
    return twin;
  }
  // What the rank sends when it does so in place lies in its receive buffer.
  Side from = call.send;
  if (call.in_place && operation != scatter && operation != scatterv) {
    from = call.recv;
    if (operation != alltoall && operation != alltoallv && operation != alltoallw) {
      const View own = view_of(call.recv, state.rank);
      s.add(own.bytes);
      if (own.bytes > 0) own.pack(s.first());
      from = {};
    }
  }
  pack(from, s);
  make_room(call.recv, r);
  if (call.in_place && (operation == scatter || operation == scatterv))
    r.add(static_cast<std::size_t>(s.bytes[state.rank]));  // for nobody
  const MPI_Datatype byte = handles.byte;
  const auto one = [](const Row& row) { return row.bytes.empty() ? 0 : row.bytes[0]; };
  for (Row* row : {&s, &r}) row->data.reserve(1);  // null is not what hosts expect here
  switch (operation) {
    case bcast: {
      Row& data = state.rank == root ? s : r;
      code = host.Ibcast(data.first(), one(data), byte, root, comm, request);
      break;
    }
    case gather: code = host.Igather(s.first(), one(s), byte, r.first(), one(r), byte, root, comm, request); break;
    case scatter: code = host.Iscatter(s.first(), one(s), byte, r.first(), one(r), byte, root, comm, request); break;
    case allgather: code = host.Iallgather(s.first(), one(s), byte, r.first(), one(r), byte, comm, request); break;
    case alltoall: code = host.Ialltoall(s.first(), one(s), byte, r.first(), one(r), byte, comm, request); break;
    case gatherv:
      code =
          host.Igatherv(s.first(), one(s), byte, r.first(), r.bytes.data(), r.starts.data(), byte, root, comm, request);
      break;
    case scatterv:
      code = host.Iscatterv(s.first(), s.bytes.data(), s.starts.data(), byte, r.first(), one(r), byte, root, comm,
                            request);
      break;
    case allgatherv:
      code = host.Iallgatherv(s.first(), one(s), byte, r.first(), r.bytes.data(), r.starts.data(), byte, comm, request);
      break;
    case alltoallv:
    case alltoallw:
      code = host.Ialltoallv(s.first(), s.bytes.data(), s.starts.data(), byte, r.first(), r.bytes.data(),
                             r.starts.data(), byte, comm, request);
      break;
    case neighbor_allgather:
    case neighbor_allgatherv:
      code = host.Ineighbor_allgatherv(s.first(), one(s), byte, r.first(), r.bytes.data(), r.starts.data(), byte, comm,
                                       request);
      break;
    default:
      code = host.Ineighbor_alltoallv(s.first(), s.bytes.data(), s.starts.data(), byte, r.first(), r.bytes.data(),
                                      r.starts.data(), byte, comm, request);
  }
  twin->works = code == MPI_SUCCESS;
  return twin;
}

void Twin::finish() {
  const std::lock_guard lock(finishing);
  const InsideHost inside;
  for (MPI_Request& request : requests) {
    if (request == handles.request_null) continue;
    for (int done = 0; !done;) {
      if (host.Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) works = false, done = 1;
      if (!done) sched_yield();
    }
  }
}

std::string Twin::difference() const {
  if (!works) return {};
  const auto packed = [](const View& view, std::byte* at) {
    std::vector<std::byte> row(view.bytes);
    View there = view;
    there.address = at;
    there.device = nullptr;
    if (view.bytes > 0) there.pack(row.data());
    return row;
  };
  Row ours;
  std::vector<std::byte> theirs, magnitude;
  std::uint8_t type = call.whole.type;
  Tolerance tolerance;
  if (call.reduces) {
    const View result = whole_view(call.recv, call.recv.parts > 0 ? call.recv.count : 0);
    if (result.bytes == 0) return {};
    ours.add(result.bytes);
    result.pack(ours.first());
    theirs = packed(result, elements_at(const_cast<Row&>(recv), result));
    if (!sums.data.empty()) magnitude = packed(result, elements_at(const_cast<Row&>(sums), result));
    tolerance.of_sum = !magnitude.empty();
    tolerance.of_product = call.op == MPI_PROD;
    tolerance.of_programs = !is_predefined(call.op);
    tolerance.exact = !tolerance.of_sum && !tolerance.of_product && !tolerance.of_programs;
    if (tolerance.of_programs && basic_of(type) == Basic::other) return {};  // nothing is known of it
  } else {
    pack(call.recv, ours);
    theirs.assign(recv.data.begin(), recv.data.begin() + static_cast<std::ptrdiff_t>(ours.data.size()));
    if (call.match != Call::Match::all) type = call.recv.parts > 0 ? call.recv.signature_of(0).type : 0;
  }
  const std::size_t bytes = ours.data.size();
  if (bytes == 0 || std::memcmp(ours.data.data(), theirs.data(), bytes) == 0) return {};

  std::string found;
  const auto says = [&](std::size_t element, const std::string& one, const std::string& other) {
    found = "element " + std::to_string(element) + " is " + one + " instead of " + other;
  };
  const bool has_fractions = call.reduces && with_numbers(type, [&](auto number) {
                               using Number = decltype(number);
                               const std::size_t components = basic_of(type) == Basic::complex ? 2 : 1;
                               const auto at = [](const std::vector<std::byte>& row, std::size_t i) {
                                 Number value;
                                 std::memcpy(&value, row.data() + i * sizeof value, sizeof value);
                                 return value;
                               };
                               for (std::size_t i = 0; i < bytes / sizeof(Number) && found.empty(); ++i) {
                                 Number norm = 0;
                                 for (std::size_t c = 0; c < components; ++c) {
                                   const Number part = at(theirs, i / components * components + c);
                                   norm += part * part;
                                 }
                                 norm = std::sqrt(norm);  // std::hypot would need glibc 2.35
                                 const Number sum = tolerance.of_sum ? at(magnitude, i) : Number{0};
                                 const Number one = at(ours.data, i), other = at(theirs, i);
                                 if (!are_close(one, other, sum, tolerance, state->p, norm))
                                   says(i / components, text_of(one), text_of(other));
                               }
                             });
  if (has_fractions) return found;
  const std::size_t size = basic_of(type) == Basic::integer ? static_cast<std::size_t>(size_of(type)) : 1;
  for (std::size_t i = 0; i < bytes; i += size)
    if (std::memcmp(ours.data.data() + i, theirs.data() + i, size) != 0) {
      says(i / size, text_of_bytes(&ours.data[i], type, size), text_of_bytes(&theirs[i], type, size));
      break;
    }
  if (size == 1 && basic_of(type) != Basic::integer) found.replace(0, std::strlen("element"), "byte");
  return found;
}

}  // namespace omnes::interpose::check
