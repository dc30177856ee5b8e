// One trial of an operation: buffers are filled, the call runs in its form, and every byte is compared.
#ifndef CATALOGUE_TRIAL_H
#define CATALOGUE_TRIAL_H

#include "calls.h"
#include "memory.h"

enum {
  guard = 0x5a5a5a5a,  // in every int that nobody may write
  max_ranks = 40
};

static int rank, p;
static int turn;  // how often the persistent request at hand has been started: contributions change with it

struct operation {
  const char* name;
  void (*start)(enum form form, const struct call* c, MPI_Request* request);
  enum {
    nothing,
    same,
    distinct,
    combined
  } data;  // what the parts of a sender are: none, alike, one per target, operands
  enum { nobody, to_root, from_root } rooted;
  enum { equal, unequal, typed } parts;
  int neighbors;                                         // works along a topology
  int in_place;                                          // has this form
  enum { all, own_part, up_to_own, before_own } result;  // combined: which part of the vector, of which ranks
};

struct trial {
  const struct operation* operation;
  enum form form;
  struct call call;
  int n, in_place;
  const char* kind;  // of data
  int *send, *recv, *wanted;
  size_t send_ints, recv_ints;
  size_t compared;  // ints of recv; the rest is undefined
  void (*fill)(struct trial* t);
};

static int* guarded(size_t ints) {
  int* buffer = malloc((ints + 1) * sizeof *buffer);
  for (size_t i = 0; i <= ints; ++i) buffer[i] = guard;
  return buffer;
}

static void compare(const struct trial* t) {
  for (size_t i = 0; i < t->compared; ++i)
    if (t->recv[i] != t->wanted[i]) {
      fail("%s %s of %d %s%s, root %d of %d, start %d: int %zu is %d, not %d", forms[t->form], t->operation->name, t->n,
           t->kind, t->in_place ? " in place" : "", t->call.root, p, turn, i, t->recv[i], t->wanted[i]);
      return;
    }
}

// By Wait and by Test, in turns.
static void complete(MPI_Request* request) {
  static int tests;
  int done = 0;
  if (tests ^= 1) {
    MPI_Wait(request, MPI_STATUS_IGNORE);
    return;
  }
  while (!done) MPI_Test(request, &done, MPI_STATUS_IGNORE);
}

// A persistent request is started twice, with other contents in the same buffers.
static void run(struct trial* t) {
  MPI_Request request = MPI_REQUEST_NULL;
  t->send = guarded(t->send_ints);
  t->recv = guarded(t->recv_ints);
  t->wanted = guarded(t->recv_ints);
  const size_t send_bytes = (t->send_ints + 1) * sizeof(int), recv_bytes = (t->recv_ints + 1) * sizeof(int);
  void* const send = place(t->send, send_bytes);
  void* const recv = place(t->recv, recv_bytes);
  t->call.send.data = send;
  t->call.recv.data = recv;
  if (t->in_place) *(t->operation->rooted == from_root ? &t->call.recv.data : &t->call.send.data) = MPI_IN_PLACE;
  for (turn = 0; turn < (t->form == persistent ? 2 : 1); ++turn) {
    t->fill(t);
    upload(send, t->send, send_bytes);
    upload(recv, t->recv, recv_bytes);
    if (turn == 0) t->operation->start(t->form, &t->call, &request);
    if (t->form == persistent) MPI_Start(&request);
    if (t->form != blocking) complete(&request);
    download(t->recv, recv, recv_bytes);
    compare(t);
  }
  if (t->form == persistent) MPI_Request_free(&request);
  release(send, t->send);
  release(recv, t->recv);
  free(t->send);
  free(t->recv);
  free(t->wanted);
}

#endif
