// A program that loads a GPU's driver after it has made collective calls, and then calls with buffers in the GPU's memory.
//
// Usage: devices [LIBRARY]: its function load_plugin() loads another one, which only its own run path finds. The driver is a
// stand-in (devices/driver.c), named as memory.h says.
#include "catalogue/memory.h"

enum { n = 5, calls = 3 };
static int rank, p;

// The same calls, with buffers on the device or, where these are null, on the host.
static void sum(void* send_there, void* recv_there, const char* where) {
  double own[n], result[n];
  void* const send = send_there ? send_there : own;
  void* const recv = recv_there ? recv_there : result;
  for (int call = 0; call < calls; ++call) {
    for (int i = 0; i < n; ++i) own[i] = rank + call + i, result[i] = -1;
    upload(send, own, sizeof own);
    upload(recv, result, sizeof result);
    MPI_Allreduce(send, recv, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    download(result, recv, sizeof result);
    for (int i = 0; i < n; ++i) {
      const double wanted = p * (p - 1) / 2 + p * (call + i);
      if (result[i] != wanted) fail("call %d %s: element %d is %g, not %g", call, where, i, result[i], wanted);
    }
  }
}

static void sum_in_turns(void) {
  double host[2][n];
  void* const there[2] = {place(host[0], sizeof host[0]), place(host[1], sizeof host[1])};
  sum(there[0], there[1], "on the device");
  const int on_device = rank % 2;
  for (int turn = 0; turn < 2; ++turn)
    if (on_device == turn)
      sum(there[0], there[1], "on the device, others on the host");
    else
      sum(NULL, NULL, "on the host, others on the device");
  release(there[0], host[0]);
  release(there[1], host[1]);
}

static void check_ints(const char* what, const int* found, const int* wanted, int number) {
  for (int i = 0; i < number; ++i)
    if (found[i] != wanted[i]) {
      fail("%s: int %d is %d, not %d", what, i, found[i], wanted[i]);
      return;
    }
}

// What lies in gaps belongs to the program while the operation is under way.
static void keep_out_of_gaps(void) {
  int buffer[] = {1, 2, 3, 4, 5}, later = 33;
  MPI_Datatype rows;
  MPI_Request request;
  MPI_Type_vector(2, 2, 3, MPI_INT, &rows);
  MPI_Type_commit(&rows);
  if (rank == 0) {
    for (int r = 1; r < p; ++r) MPI_Recv(NULL, 0, MPI_INT, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ibcast(buffer, 1, rows, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    const int before[] = {0, 0, 0, 0, 0}, wanted[] = {1, 2, 33, 4, 5};
    int* const there = place(before, sizeof before);
    MPI_Ibcast(there, 1, rows, 0, MPI_COMM_WORLD, &request);
    upload(there + 2, &later, sizeof later);
    MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    download(buffer, there, sizeof buffer);
    check_ints("with a gap", buffer, wanted, 5);
    release(there, before);
  }
  MPI_Type_free(&rows);
}

// A part of an array, in rows or in columns; all ranks but the root have the array on their device.
static void send_subarray(int order) {
  enum { rows = 4, columns = 5, all = rows * columns };
  const int sizes[] = {rows, columns}, lengths[] = {2, 3}, starts[] = {1, 2};
  int array[all], wanted[all];
  MPI_Datatype part;
  MPI_Type_create_subarray(2, sizes, lengths, starts, order, MPI_INT, &part);
  MPI_Type_commit(&part);
  for (int i = 0; i < all; ++i) {
    const int row = order == MPI_ORDER_C ? i / columns : i % rows,
              column = order == MPI_ORDER_C ? i % columns : i / rows;
    const int inside = row >= 1 && row < 3 && column >= 2 && column < 5;
    wanted[i] = inside || rank == 0 ? i : -1;
    array[i] = rank == 0 ? i : -1;
  }
  void* const there = rank == 0 ? array : place(array, sizeof array);
  MPI_Bcast(there, 1, part, 0, MPI_COMM_WORLD);
  download(array, there, sizeof array);
  check_ints(order == MPI_ORDER_C ? "part of rows" : "part of columns", array, wanted, all);
  if (there != array) release(there, array);
  MPI_Type_free(&part);
}

// A pair of which some have a gap, moved and combined.
static void send_pairs(void) {
  struct pair {
    double value;
    int index;
  } own[2] = {{rank, rank}, {-rank, rank}}, largest[2] = {{-1, -1}, {-1, -1}};
  void* const send = place(own, sizeof own);
  void* const recv = place(largest, sizeof largest);
  MPI_Allreduce(send, recv, 2, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  download(largest, recv, sizeof largest);
  if (largest[0].index != p - 1 || largest[1].index != 0)
    fail("the largest are at %d and %d", largest[0].index, largest[1].index);
  MPI_Bcast(send, 2, MPI_DOUBLE_INT, p - 1, MPI_COMM_WORLD);
  download(own, send, sizeof own);
  if (own[1].value != 1 - p || own[1].index != p - 1) fail("the last pair is %g, %d", own[1].value, own[1].index);
  release(send, own);
  release(recv, largest);
}

// What is long passes through memory of the host that the device copies from and to by itself, if the driver can do that. Longer
// memory takes the place of shorter.
static void send_long(void) {
  enum { shortest = 5000, longest = 40000 };
  long (*const copies)(void) = (long (*)(void))dlsym(device.library, "stand_in_copies_to_pinned");
  long (*const pinned)(void) = (long (*)(void))dlsym(device.library, "stand_in_pinned");
  int* const host = malloc(longest * sizeof(int));
  MPI_Comm twin;
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  void* const send = place(host, longest * sizeof(int));
  void* const recv = place(host, longest * sizeof(int));
  for (int number = shortest; number <= longest; number *= 2)
    for (int call = 0; call < calls; ++call) {
      for (int i = 0; i < number; ++i) host[i] = rank + call + i;
      upload(send, host, number * sizeof(int));
      MPI_Allreduce(send, recv, number, MPI_INT, MPI_SUM, twin);
      MPI_Bcast(recv, number, MPI_INT, call % p, twin);
      download(host, recv, number * sizeof(int));
      for (int i = 0; i < number; ++i)
        if (host[i] != p * (p - 1) / 2 + p * (call + i)) {
          fail("of %d ints, call %d: int %d is %d", number, call, i, host[i]);
          break;
        }
    }
  const long most = 2;  // for what is sent, and for what is received
  if (pinned && dlsym(device.library, "cuMemHostRegister_v2") && (copies() == 0 || pinned() == 0 || pinned() > most))
    fail("%ld copies, to %ld pieces of pinned memory", copies(), pinned());
  MPI_Comm_free(&twin);
  release(send, host);
  release(recv, host);
  free(host);
}

// An error of one line, where the driver cannot copy.
static void expect_error(void) {
  double host[n] = {0};
  char text[MPI_MAX_ERROR_STRING];
  int length;
  void* const there = place(host, sizeof host);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int code = MPI_Allreduce(MPI_IN_PLACE, there, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (code == MPI_SUCCESS) fail("no error");
  MPI_Error_string(code, text, &length);
  if (!strstr(text, "OMNES_OFF=1") || !strstr(text, "cuMemcpyAsync") || strchr(text, '\n')) fail("error '%s'", text);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  sum(NULL, NULL, "before the driver is there");
  if (argc > 1) {
    void* const library = dlopen(argv[1], RTLD_NOW);
    void* (*const load_plugin)(void) = library ? (void* (*)(void))dlsym(library, "load_plugin") : NULL;
    if (!load_plugin || !load_plugin()) fail("%s", dlerror());
  }
  open_device(rank);
  if (getenv("TEST_EXPECT_ERROR")) {
    expect_error();
    return finish();
  }
  sum_in_turns();
  keep_out_of_gaps();
  send_subarray(MPI_ORDER_C);
  send_subarray(MPI_ORDER_FORTRAN);
  send_pairs();
  send_long();
  int (*const last_error)(void) = (int (*)(void))dlsym(device.library, "hipGetLastError");
  if (last_error && last_error() != 0) fail("the driver keeps an error that the program has not made");
  return finish();
}
