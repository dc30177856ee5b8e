// What programs do beside collectives: messages, windows, intercommunicators.
#pragma once

#include "outstanding.hpp"

namespace random_programs {

namespace detail {

inline std::shared_ptr<Call> message(const Base& base, int g, int items, bool sends, Draw draw, int from, int to) {
  auto call = std::make_shared<Call>();
  (sends ? call->send : call->recv) = regular(draw, base, g, 1, items);
  set_contents(*call, sends ? Contents{{from, to}} : Contents{}, sends ? Contents{} : Contents{{from, to}}, {});
  call->text = "message from " + std::to_string(from) + " to " + std::to_string(to);
  return call;
}

}  // namespace detail

/// Everybody sends to one that many ranks on. What is not over is added to `outstanding`.
inline std::string messages(const Communicator& comm, const detail::Shape& shape, Draw draw, int tag,
                            const std::shared_ptr<bool>& freed, std::vector<std::shared_ptr<Call>>& kept,
                            std::deque<Outstanding>& outstanding) {
  Draw drawn(shape.seed);
  const int g = std::array{1, 2, 6}[drawn.below(3)], shift = drawn.below(comm.size), kind = draw.below(7);
  const Base& base = base_of(drawn.below(10));
  const int to = (comm.rank + shift) % comm.size, from = (comm.rank + comm.size - shift) % comm.size;
  Draw mine(hash({draw.next(), static_cast<std::uint64_t>(comm.rank)}));
  const int there = shape.items(g, base.extent, comm.rank), here = shape.items(g, base.extent, from);
  const auto send = detail::message(base, g, there, true, Draw(mine.next()), comm.rank, to);
  const auto recv = detail::message(base, g, here, false, Draw(mine.next()), from, comm.rank);
  const std::uint64_t key = draw.next();
  send->fill(key), recv->fill(key);
#define MESSAGE(side, peer) side->address(), side->count(), side->type(), peer, tag, comm.handle
  MPI_Request out = MPI_REQUEST_NULL, in = MPI_REQUEST_NULL;
  const auto leave = [&](MPI_Request request, const std::shared_ptr<Call>& call) {
    outstanding.push_back({request, false, true, freed, call, where.step, comm.of_session});
  };
  const auto received = [&] { recv->check(), send->check(); };
  switch (kind) {
    case 0:
      must(MPI_Irecv(MESSAGE(recv->recv, from), &in), "MPI_Irecv");
      must(MPI_Isend(MESSAGE(send->send, to), &out), "MPI_Isend");
      leave(in, recv), leave(out, send);
      return "Isend, Irecv";
    case 1:
      must(MPI_Sendrecv(send->send->address(), send->send->count(), send->send->type(), to, tag, recv->recv->address(),
                        recv->recv->count(), recv->recv->type(), from, tag, comm.handle, MPI_STATUS_IGNORE),
           "MPI_Sendrecv");
      received();
      return "Sendrecv";
    case 2:
      must(MPI_Issend(MESSAGE(send->send, to), &out), "MPI_Issend");
      must(MPI_Recv(MESSAGE(recv->recv, from), MPI_STATUS_IGNORE), "MPI_Recv");
      recv->check();
      leave(out, send);
      return "Issend, Recv";
    case 3: {
      MPI_Message found;
      must(MPI_Isend(MESSAGE(send->send, to), &out), "MPI_Isend");
      must(MPI_Mprobe(from, tag, comm.handle, &found, MPI_STATUS_IGNORE), "MPI_Mprobe");
      must(MPI_Mrecv(recv->recv->address(), recv->recv->count(), recv->recv->type(), &found, MPI_STATUS_IGNORE),
           "MPI_Mrecv");
      recv->check();
      leave(out, send);
      return "Isend, Mprobe";
    }
    case 4: {
      must(MPI_Irecv(MESSAGE(recv->recv, MPI_ANY_SOURCE), &in), "MPI_Irecv");
      must(MPI_Ssend_init(MESSAGE(send->send, to), &out), "MPI_Ssend_init");
      must(MPI_Start(&out), "MPI_Start");
      leave(in, recv);
      outstanding.push_back({out, true, true, freed, send, where.step, comm.of_session});
      return "Ssend_init, Irecv from any";
    }
    case 5:
      must(MPI_Isend(MESSAGE(send->send, to), &out), "MPI_Isend");
      must(MPI_Request_free(&out), "MPI_Request_free");
      kept.push_back(send);
      must(MPI_Recv(MESSAGE(recv->recv, from), MPI_STATUS_IGNORE), "MPI_Recv");
      recv->check();
      return "Isend whose request is freed, Recv";
    default: {
      must(MPI_Irecv(MESSAGE(recv->recv, from), &in), "MPI_Irecv");
      must(MPI_Ssend(MESSAGE(send->send, to)), "MPI_Ssend");
      leave(in, recv);
      kept.push_back(send);
      return "Ssend, Irecv";
    }
  }
}

/// A window that ranks write and lock while others are in collectives, and whose memory takes part in one.
inline std::string window(const Communicator& comm, Draw draw) {
  constexpr int n = 600;
  const int kind = draw.below(3), p = comm.size, me = comm.rank, number = draw.below(1000);
  void* memory = nullptr;
  MPI_Win win;
  std::vector<int> own(kind == 1 ? 2 * n : 0), sums(n, -1);
  constexpr MPI_Aint bytes = 2 * n * sizeof(int);
  if (kind == 0)
    must(MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, comm.handle, &memory, &win), "MPI_Win_allocate");
  else if (kind == 1)
    must(MPI_Win_create(memory = own.data(), bytes, sizeof(int), MPI_INFO_NULL, comm.handle, &win), "MPI_Win_create");
  else
    must(MPI_Win_allocate_shared(bytes, sizeof(int), MPI_INFO_NULL, comm.handle, &memory, &win),
         "MPI_Win_allocate_shared");
  int* const mine = static_cast<int*>(memory);
  for (int i = 0; i < 2 * n; ++i) mine[i] = 0;
  std::vector<int> put(n);
  for (int i = 0; i < n; ++i) put[i] = me * 7 + i + number;
  must(MPI_Win_fence(0, win), "MPI_Win_fence");
  must(MPI_Put(put.data(), n, MPI_INT, (me + 1) % p, 0, n, MPI_INT, win), "MPI_Put");
  must(MPI_Win_fence(0, win), "MPI_Win_fence");
  const int before = (me + p - 1) % p;
  for (int i = 0; i < n; ++i)
    if (mine[i] != before * 7 + i + number) fail("MPI_Put: element %d is %d", i, mine[i]);
  must(MPI_Allreduce(mine, sums.data(), n, MPI_INT, MPI_SUM, comm.handle), "MPI_Allreduce");
  for (int i = 0; i < n; ++i)
    if (sums[i] != p * (p - 1) / 2 * 7 + p * (i + number))
      fail("Allreduce of a window's memory: element %d is %d", i, sums[i]);
  // One is in a barrier while the others need it.
  const int target = draw.below(p), one = me + 1;
  if (me != target) {
    must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win), "MPI_Win_lock");
    must(MPI_Accumulate(&one, 1, MPI_INT, target, n, 1, MPI_INT, MPI_SUM, win), "MPI_Accumulate");
    must(MPI_Win_unlock(target, win), "MPI_Win_unlock");
  }
  must(MPI_Barrier(comm.handle), "MPI_Barrier");
  if (me == target) {
    must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, win), "MPI_Win_lock");
    const int sum = mine[n];
    must(MPI_Win_unlock(me, win), "MPI_Win_unlock");
    if (sum != p * (p + 1) / 2 - (me + 1)) fail("MPI_Accumulate: %d", sum);
  }
  must(MPI_Win_free(&win), "MPI_Win_free");
  return std::array{"Win_allocate", "Win_create", "Win_allocate_shared"}[kind];
}

/// On intercommunicators.
inline std::string between(const Communicator& comm, Draw draw) {
  const int operation = draw.below(5);
  int mine = comm.rank + 1, got = -1, wanted = comm.remote * (comm.remote + 1) / 2;
  MPI_Request request;
  if (operation == 0) {
    must(MPI_Barrier(comm.handle), "MPI_Barrier");
    return "Barrier";
  }
  if (operation > 2) {  // everybody gets the same from each of the others
    const int n = 1 + draw.below(draw.one_in(3) ? 3000 : 40), copies = operation == 3 ? 1 : comm.remote;
    std::vector<int> sent(static_cast<std::size_t>(n) * copies, mine), all(static_cast<std::size_t>(n) * comm.remote);
    if (operation == 3)
      must(MPI_Allgather(sent.data(), n, MPI_INT, all.data(), n, MPI_INT, comm.handle), "MPI_Allgather");
    else
      must(MPI_Alltoall(sent.data(), n, MPI_INT, all.data(), n, MPI_INT, comm.handle), "MPI_Alltoall");
    for (int i = 0; i < n * comm.remote; ++i)
      if (all[i] != i / n + 1) fail("from rank %d of the other group: element %d is %d", i / n, i % n, all[i]);
    return operation == 3 ? "Allgather" : "Alltoall";
  }
  if (operation == 1) {
    must(MPI_Iallreduce(&mine, &got, 1, MPI_INT, MPI_SUM, comm.handle, &request), "MPI_Iallreduce");
    must(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  } else {
    must(MPI_Allreduce(&mine, &got, 1, MPI_INT, MPI_SUM, comm.handle), "MPI_Allreduce");
  }
  if (got != wanted) fail("Allreduce between groups: %d instead of %d", got, wanted);
  return "Allreduce";
}

/// Sums that have to be rounded: close to the truth, the same bits on all ranks, and where OMNES_REPRODUCIBLE says so, whatever
/// the size of the message.
inline std::string same_bits(const Communicator& comm, Draw draw, bool reproducible) {
  const int p = comm.size, n = 1 + draw.below(draw.one_in(3) ? 3000 : 40);
  const std::uint64_t key = draw.next();
  const auto value = [&](int rank, int i) {
    return static_cast<double>(hash({key, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(i)}) % 1000003) /
           999.0;
  };
  std::vector<double> mine(n), sums(n), others(n);
  for (int i = 0; i < n; ++i) mine[i] = value(comm.rank, i);
  must(MPI_Allreduce(mine.data(), sums.data(), n, MPI_DOUBLE, MPI_SUM, comm.handle), "MPI_Allreduce");
  for (int i = 0; i < n; ++i) {
    double sum = 0;
    for (int rank = 0; rank < p; ++rank) sum += value(rank, i);
    if (!(sum - sums[i] < 1e-9 && sums[i] - sum < 1e-9))
      fail("rounded sum: element %d is %.17g, not %.17g", i, sums[i], sum);
  }
  must(MPI_Sendrecv(sums.data(), n, MPI_DOUBLE, (comm.rank + 1) % p, 1, others.data(), n, MPI_DOUBLE,
                    (comm.rank + p - 1) % p, 1, comm.handle, MPI_STATUS_IGNORE),
       "MPI_Sendrecv");
  if (std::memcmp(sums.data(), others.data(), n * sizeof(double)) != 0)
    fail("rounded sums: other bits on the rank before");
  if (reproducible) {
    const int i = draw.below(n);
    double alone = 0;
    must(MPI_Allreduce(&mine[i], &alone, 1, MPI_DOUBLE, MPI_SUM, comm.handle), "MPI_Allreduce");
    if (std::memcmp(&alone, &sums[i], sizeof alone) != 0) fail("rounded sums: other bits in a message of one element");
  }
  return "rounded sums";
}

}  // namespace random_programs
