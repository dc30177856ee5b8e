// Notices are made, posted and compared.
#include "interpose/check/check.hpp"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "interpose/check/buffers.hpp"
#include "interpose/check/report.hpp"
#include "interpose/check/sources.hpp"
#include "interpose/check/watch.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/process/notes.hpp"
#include "interpose/process/world.hpp"

namespace omnes::interpose {

namespace check {

namespace {

thread_local std::string last_algorithm;  // of this thread's call

constexpr std::uint64_t not_known = ~std::uint64_t{0};  // bytes of a part

std::string name_of(MPI_Comm comm, const State& state) {
  char name[MPI_MAX_OBJECT_NAME + 1] = "";
  int length = 0;
  if (host.Comm_get_name(comm, name, &length) != MPI_SUCCESS) length = 0;
  const std::string text(name, static_cast<std::size_t>(length));
  if (comm == handles.comm_world) return "MPI_COMM_WORLD";
  const auto second = state.ranks.begin() + state.first_group;
  const std::string first = state.first_group > 0 ? ranks_text({state.ranks.begin(), second}) + " with " : "";
  return (!text.empty()            ? '"' + text + '"'
          : state.first_group == 0 ? "a communicator"
                                   : "an intercommunicator") +
         " of " + first + ranks_text({second, state.ranks.end()});
}

Part part_of(const Signature& signature) {
  if (signature.unknown) return {not_known, 0};
  return {signature.bytes, signature.opaque ? 0 : signature.hash};
}

bool match(const Part& one, const Part& other) {
  if (one.bytes == not_known || other.bytes == not_known) return true;
  return one.bytes == other.bytes && (one.bytes == 0 || one.hash == 0 || other.hash == 0 || one.hash == other.hash);
}

/// For each rank; of a single part, each gets it.
std::vector<Part> parts_of(const Side& side, const State& state) {
  const Range others = state.remote_group();
  std::vector<Part> parts(state.p, {not_known, 0});
  for (int r = 0; side.parts > 0 && r < others.count; ++r)
    parts[others.first + r] = part_of(side.signature_of(std::min(r, side.parts - 1)));
  return parts;
}

/// Where ranks of the same group, or of different ones, say that the root is.
bool is_one_root(const Notice& one, int its_rank, const Notice& other, int rank_of_other, int p, int first_group) {
  if (one.root == Notice::no_root || other.root == Notice::no_root) return true;  // the host says so
  const auto are_together = [&](int a, int b) {
    return group_of(a, p, first_group).first == group_of(b, p, first_group).first;
  };
  if (one.root >= 0 && other.root == Notice::beside_root)
    return one.root != rank_of_other && are_together(one.root, rank_of_other);
  if (other.root >= 0 && one.root == Notice::beside_root)
    return other.root != its_rank && are_together(other.root, its_rank);
  return one.root == other.root && (one.root != Notice::beside_root || are_together(its_rank, rank_of_other));
}

/// What is wrong with the other's call beside this one; null: nothing.
const char* difference(const Notice& one, const Notice& other, bool same_root, bool same_group) {
  if (one.function != other.function) return "different operations";
  if (!same_root) return "different roots";
  if (one.root < -1 || other.root < -1) return nullptr;  // nothing else of it counts
  if (one.reduction != other.reduction) return "different reductions";
  if (!(one.flags & Notice::whole) || ((one.flags | other.flags) & Notice::unknown)) return nullptr;
  if (one.bytes != other.bytes) return "different counts";
  if (same_group && one.parts != other.parts) return "different counts of parts";
  if (one.bytes > 0 && one.hash != other.hash && !((one.flags | other.flags) & Notice::opaque))
    return "different datatypes";
  return nullptr;
}

/// Members of a communicator of this node.
bool is_here(const Watched& watched, int member) { return area_of(watched.ranks[member]) != nullptr; }

Notice notice_of_whole(const Call& call, const Signature* whole) {
  Notice notice;
  notice.root = call.root;
  if (call.reduces) notice.reduction = number_of(call.op);
  if (call.match == Call::Match::all) notice.flags = Notice::whole;
  if (!whole) return notice;
  notice.bytes = whole->bytes;
  notice.hash = whole->hash;
  notice.type = whole->type;
  notice.flags |= (whole->opaque ? Notice::opaque : 0) | (whole->unknown ? Notice::unknown : 0);
  notice.parts = call.order;
  return notice;
}

/// Those that are there; with watch_mutex().
std::set<Watched*>& all_watched() {
  static auto& all = *new std::set<Watched*>;
  return all;
}

}  // namespace

Watched::Watched(std::uint64_t its_id, std::vector<int> its_ranks, int its_rank, int its_first_group,
                 std::string its_name)
    : id(its_id),
      ranks(std::move(its_ranks)),
      rank(its_rank),
      first_group(its_first_group),
      ring(id != 0 ? take_ring(id) : -1),
      hints(ranks.size()),
      name(std::move(its_name)) {
  for (auto& hint : hints) hint = -1;
  if (ring < 0) return;
  std::vector<int> here;
  for (int r = 0; r < static_cast<int>(ranks.size()); ++r)
    if (is_here(*this, r)) here.push_back(r);
  // Between groups, who gives MPI_PROC_NULL says little: there all compare with all.
  for (const int r : here)
    if (r != rank && (r == here.front() || rank == here.front() || first_group > 0)) peers.push_back({r});
  const std::lock_guard lock(watch_mutex());
  all_watched().insert(this);
}

Watched::~Watched() {
  if (ring >= 0) compare();                   // what came after the last call
  const std::lock_guard lock(watch_mutex());  // the thread may still look at it
  all_watched().erase(this);
  if (ring >= 0) give_ring_back(ring);
}

int Watched::ring_of(int member) {
  const Area* const area = area_of(ranks[member]);
  if (!area) return -1;
  const int found = find_ring(*area, id, hints[member].load(std::memory_order_relaxed));
  if (found >= 0) hints[member].store(found, std::memory_order_relaxed);
  return found;
}

std::optional<Notice> Watched::notice_of(int member, std::uint64_t number) {
  const int found = ring_of(member);
  return found < 0 ? std::nullopt : read(*area_of(ranks[member]), found, number);
}

void Watched::post(const Notice& notice, std::uint64_t digest, bool fence) {
  check::post(own_area(), ring, ++calls, notice, digest, fence);
}

void Watched::compare() {
  if (has_given_up()) return;
  const auto word = [](const Digests& of, std::uint64_t number) {
    return of.words[number % Digests::depth].load(std::memory_order_acquire);
  };
  const Digests& own = own_area().digests[ring];
  for (Peer& peer : peers)
    for (; peer.compared < calls; ++peer.compared) {
      const std::uint64_t number = peer.compared + 1;
      if (peer.digests && word(*peer.digests, number) == word(own, number)) continue;
      if (!compare_closely(peer, number)) break;
    }
}

bool Watched::compare_closely(Peer& peer, std::uint64_t number) {
  const int found = ring_of(peer.member);
  if (found < 0) return false;
  const Area& area = *area_of(ranks[peer.member]);
  if (first_group == 0)
    peer.digests = &area.digests[found];  // else equal notices may disagree: two groups beside the root's
  if (area.rings[found].posted.load(std::memory_order_acquire) < number) return false;
  const std::optional<Notice> ours = read(own_area(), ring, number), theirs = read(area, found, number);
  if (!ours || !theirs) return true;  // one of them has been overwritten
  const auto p = static_cast<int>(ranks.size());
  const bool same_group = group_of(rank, p, first_group).first == group_of(peer.member, p, first_group).first;
  const bool same_root = is_one_root(*ours, rank, *theirs, peer.member, p, first_group);
  const char* const what = difference(*ours, *theirs, same_root, same_group);
  if (what && !may_disagree()) disagree(*this, number, what);
  return true;
}

bool Watched::has_come(int member, std::uint64_t number) {
  const Area* const area = area_of(ranks[member]);
  if (!area || area->full.load(std::memory_order_relaxed)) return true;
  const int found = ring_of(member);
  if (found < 0) return false;
  const Ring& its = area->rings[found];
  return its.posted.load(std::memory_order_acquire) >= number || its.given_up.load(std::memory_order_relaxed);
}

void Watched::give_up() {
  given_up_.store(true, std::memory_order_relaxed);
  if (ring >= 0) own_area().rings[ring].given_up.store(true, std::memory_order_release);
}

bool Watched::may_disagree() {
  constexpr useconds_t between_looks = 20'000;  // us
  constexpr int looks = 15;
  for (int i = 0; i < looks && !has_given_up(); ++i) {
    if (i > 0) usleep(between_looks);
    for (int r = 0; r < static_cast<int>(ranks.size()); ++r) {
      const int its = ring_of(r);
      if (its >= 0 && area_of(ranks[r])->rings[its].given_up.load(std::memory_order_acquire)) give_up();
    }
    if (!may_be_revoked.load(std::memory_order_relaxed)) break;
  }
  return has_given_up();
}

void Inside::enter(std::uint8_t function) {
  Area& area = own_area();
  const std::uint64_t before = area.what.load(std::memory_order_relaxed);
  const bool polls = function >= number_of(Function::Test) && function <= number_of(Function::Testsome);
  if (polls && before == function) return;  // again and again: since when, counts
  entered_ = !polls;
  before_ = before >= number_of(Function::Test) && before <= number_of(Function::Testsome) ? 0 : before;
  since_ = area.since.load(std::memory_order_relaxed);
  area.since.store(last_look.load(std::memory_order_relaxed), std::memory_order_relaxed);
  area.what.store(function, std::memory_order_relaxed);
}

void Inside::leave() {
  Area& area = own_area();
  area.last.store(area.what.load(std::memory_order_relaxed), std::memory_order_relaxed);
  area.since.store(before_ != 0 ? since_ : last_look.load(std::memory_order_relaxed), std::memory_order_relaxed);
  area.what.store(before_, std::memory_order_relaxed);
}

Entry::Entry(State& state, MPI_Comm comm, std::uint8_t function, Form form, const void* caller)
    : state_(state), comm_(comm), form_(form), function_(function), site_(site_of(caller)), inside_(function) {
  if (!state.check)
    state.check =
        std::make_shared<Watched>(state.check_id, state.ranks, state.rank, state.first_group, name_of(comm, state));
  watched_ = static_cast<Watched*>(state.check.get());
}

Entry::~Entry() {
  if (form_ == Form::blocking) wait_in(nullptr, 0);
  if (!buffers_ || kept_ || !buffers_->twin) return;
  if (form_ == Form::blocking)
    compare_result(*buffers_, false);
  else
    leave_twin(std::move(buffers_->twin));
}

void Entry::post(bool ends) {
  if (watched_->ring < 0 || watched_->has_given_up()) return;
  if (ends) return watched_->give_up();
  const Signature* whole = call.match == Call::Match::all ? &call.whole : nullptr;
  Signature own;
  if (call.match == Call::Match::root && state_.rank != call.root) {
    const Side& side = call.sends_parts ? call.recv : call.send;
    own = signature(side.count, side.type);
    whole = &own;
  }
  Notice mine = notice_of_whole(call, whole);
  mine.function = function_;
  mine.site = site_;
  std::vector<Part> parts;
  if (call.match == Call::Match::pairs) {
    const std::vector<Part> received = parts_of(call.recv, state_);
    parts = call.in_place ? received : parts_of(call.send, state_);
    parts.insert(parts.end(), received.begin(), received.end());
  } else if (call.match == Call::Match::root && state_.rank == call.root) {
    parts = parts_of(call.sends_parts ? call.send : call.recv, state_);
  }
  if (!parts.empty()) mine.parts = put_parts(parts);
  watched_->post(mine, digest(mine), true);
  number_ = watched_->calls;

  if (form_ == Form::blocking) wait_in(watched_, number_);
  watched_->compare();
  compare_parts(mine, parts);
  compare_own_part();

  if (form_ == Form::blocking && !has_twin() && !may_overlap(call)) return;
  buffers_ = std::make_shared<Buffers>();
  buffers_->function = function_;
  buffers_->number = number_;
  buffers_->site = site_;
  buffers_->watched = watched_->shared_from_this();
  find_buffers(*buffers_, call);
  if (form_ == Form::blocking) check_overlaps(*buffers_);
}

bool Entry::has_twin() const {
  return process().settings.check == Check::results && is_collective(function_) && form_ != Form::persistent &&
         state_.first_group == 0;
}

void Entry::accepted() {
  if (buffers_ && has_twin()) buffers_->twin = Twin::start(state_, comm_, operation_of(function_), call);
}

void Entry::compare_parts(const Notice& mine, const std::vector<Part>& parts) {
  const auto p = static_cast<std::size_t>(state_.p);
  const int self = state_.rank;
  const bool by_root = call.match == Call::Match::root;
  if (!by_root && call.match != Call::Match::pairs) return;
  const auto check_pair = [&](int from, int to, const Part& sent, const Part& received) {
    if (!match(sent, received) && !watched_->may_disagree())
      disagree_about_part(*watched_, number_, from, to, sent.bytes, received.bytes);
  };
  for (int r = 0; r < state_.p; ++r) {
    if (r == self || (by_root && self != call.root && r != call.root)) continue;
    const std::optional<Notice> other = watched_->notice_of(r, number_);
    // Who are not at one about the operation or its root hear of that elsewhere.
    if (!other || other->function != mine.function || other->root != mine.root) continue;
    const auto part_in = [](const Notice& notice) {
      return Part{notice.flags & Notice::unknown ? not_known : notice.bytes,
                  notice.flags & Notice::opaque ? 0 : notice.hash};
    };
    Part theirs{}, ours{};
    if (by_root) {
      ours = self == call.root ? parts[r] : part_in(mine);
      theirs = part_in(*other);
      if (self != call.root && !read_parts(*area_of(watched_->ranks[r]), other->parts, self, 1, &theirs)) continue;
      const bool sends = (self == call.root) == call.sends_parts;
      sends ? check_pair(self, r, ours, theirs) : check_pair(r, self, theirs, ours);
    } else {
      const Area& area = *area_of(watched_->ranks[r]);
      if (read_parts(area, other->parts, p + self, 1, &theirs)) check_pair(self, r, parts[r], theirs);
      if (read_parts(area, other->parts, self, 1, &theirs)) check_pair(r, self, theirs, parts[p + r]);
    }
  }
}

void Entry::compare_own_part() {
  const Side &send = call.send, &recv = call.recv;
  // MPI demands it of all operations that only move data, but for those along edges.
  if (call.match == Call::Match::none || call.reduces || call.in_place || state_.first_group > 0 || send.parts == 0 ||
      recv.parts == 0)
    return;
  const int self = state_.rank;
  const auto own = [&](const Side& side) { return part_of(side.signature_of(std::min(self, side.parts - 1))); };
  const Part sent = own(send), received = own(recv);
  if (!match(sent, received) && !watched_->may_disagree())
    disagree_about_part(*watched_, number_, self, self, sent.bytes, received.bytes);
}

bool keep(Kept& kept, const State& state, Operation operation, const Call& call, const void* send, const void* recv) {
  const bool follows = state.first_group == 0 && (call.match == Call::Match::all || operation == Operation::barrier);
  if (!follows || !reach(kept.sent, kept.received, call, send, recv)) return false;
  kept.notice = notice_of_whole(call, call.match == Call::Match::all ? &call.whole : nullptr);
  kept.notice.function = number_of(operation, Form::blocking);
  kept.digest = digest(kept.notice);
  const bool gives = operation == Operation::bcast || operation == Operation::scatter;
  const bool takes = operation == Operation::reduce || operation == Operation::gather;
  kept.others_look = call.root == 0 && (state.rank == 0 ? gives : takes);
  return true;
}

Again::Again(Watched& watched, Kept& kept, const void* caller)
    : watched_(watched), others_look_(kept.others_look), inside_(kept.notice.function) {
  kept.notice.site = site_of(caller);
  watched.post(kept.notice, kept.digest, false);
  wait_in(&watched, watched.calls);
}

Again::~Again() { wait_in(nullptr, 0); }

void Again::ended() {
  constexpr std::uint64_t seldom = 16;  // calls: what others post is on its way back and forth then
  if (!others_look_ || watched_.calls % seldom == 0) watched_.compare();
}

void look_again() {
  if (Watched* const watched = waited_in()) watched->compare();
}

void Entry::served(const MPI_Request* request) {
  if (form_ == Form::blocking && number_ != 0) watched_->compare();
  if (!buffers_) return;
  buffers_->algorithm = last_algorithm;
  if (!request) return compare_result(*buffers_, true);
  kept_ = true;
  keep_buffers(buffers_, *request, form_ == Form::persistent);
}

void Entry::failed(bool ends) {
  if (ends)
    watched_->give_up();
  else if (number_ != 0)
    watched_->compare();
}

void Completions::look(int count, const MPI_Request* requests) {
  if (!requests) return;
  requests_ = requests;
  for (int i = 0; i < count; ++i)
    if (requests[i] != handles.request_null)
      if (std::shared_ptr<Buffers> buffers = take_buffers(requests[i]))
        ours_.push_back({i, requests[i], std::move(buffers)});
}

Completions::~Completions() {
  for (Of& of : ours_)
    if (!of.buffers->persistent) return_buffers(std::move(of.buffers), of.request);
}

void Completions::all() {
  for (const Of& of : ours_) complete(*of.buffers);
  ours_.clear();
}

void Completions::some(int count, const int* indices) {
  count = std::max(count, 0);  // none: MPI_UNDEFINED
  std::erase_if(ours_, [&](const Of& of) {
    const bool completed = std::find(indices, indices + count, of.index) != indices + count;
    if (completed) complete(*of.buffers);
    return completed;
  });
}

void Completions::failed() {
  std::erase_if(ours_, [&](const Of& of) {
    // A persistent one may have ended, too, which nothing tells.
    const bool ended = of.buffers->persistent || requests_[of.index] == handles.request_null;
    if (ended) abandon(*of.buffers);
    return ended;
  });
}

void ran(const std::string& algorithm) { last_algorithm = algorithm; }

void started(MPI_Request request) {
  const std::shared_ptr<Buffers> buffers = kept_buffers(request);
  if (!buffers) return;
  Watched& made_on = *buffers->watched;
  if (!buffers->its_starts)
    buffers->its_starts = std::make_shared<Watched>(
        made_on.id * 0x9E3779B97F4A7C15u + buffers->number, made_on.ranks, made_on.rank, made_on.first_group,
        "what " + call_name(made_on, buffers->function, buffers->number) + " has made");
  ++buffers->starts;
  if (const int ring = buffers->its_starts->ring; ring >= 0) {
    Notice notice;
    notice.function = number_of(Function::Start);
    notice.site = buffers->site;
    post(own_area(), ring, buffers->starts, notice, digest(notice), true);
  }
  activate(*buffers);
}

void revoked(MPI_Comm comm) {
  if (comm == handles.comm_null) return;
  try {
    if (State* const state = state_kept_with(comm); state && state->check)
      static_cast<Watched*>(state->check.get())->give_up();
  } catch (const Failure&) {  // the host says what is wrong
  }
}

void freed(MPI_Comm comm) {
  if constexpr (built_for != Family::mpich) finish_twins_of(comm);
}

void told_complete(MPI_Request request) {
  if (const std::shared_ptr<Buffers> buffers = kept_buffers(request)) complete(*buffers);
}

void released(MPI_Request request) { forget_buffers(request); }

void joined(Function function, State& state, MPI_Comm comm, const void* caller, bool ends) {
  Entry(state, comm, number_of(function), Form::blocking, caller).post(ends);
}

void begin() {
  if (simulated) return note("OMNES_CHECK: nothing is checked in a simulation");
  const World& w = *world();
  const bool alike = std::ranges::all_of(
      w.all, [&](const Introduction& other) { return other.fingerprint == w.all[w.rank].fingerprint; });
  if (!alike || !make_board()) {
    note("OMNES_CHECK: nothing is checked, as " +
         std::string(alike ? "ranks cannot share memory" : "the OMNES_ variables of the ranks differ"));
    return;
  }
  detours.fetch_add(1, std::memory_order_relaxed);  // no function that waits goes straight to the host
  check_on = true;
  start_watching();
}

void end() {
  if (!checking()) return;
  finish_twins();
  stop_watching();
  for (Watched* const watched : all_watched()) watched->compare();
}

}  // namespace check

}  // namespace omnes::interpose
