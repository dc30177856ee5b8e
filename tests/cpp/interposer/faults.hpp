// Programs with one fault each, and what is said of it.
#pragma once

#include <unistd.h>

#include <string>
#include <vector>

#include "more_programs.hpp"

namespace programs {

struct Fault {
  const char* name;
  void (*run)(int rank, int p);   ///< between MPI_Init and MPI_Finalize
  std::vector<std::string> said;  ///< in one line
  bool ends = true;               ///< the job
  std::map<std::string, std::string> variables = {};
};

inline int numbers[64], others[64];

/// Neither commutes nor associates, but says that it commutes: every order gives something else.
inline void subtract(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] = static_cast<int*>(in)[i] - static_cast<int*>(inout)[i];
}
inline void subtract_doubles(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i)
    static_cast<double*>(inout)[i] = static_cast<double*>(in)[i] - static_cast<double*>(inout)[i];
}

inline const Fault faults[] = {
    {"roots",
     [](int rank, int) { MPI(Bcast(numbers, 4, MPI_INT, rank == 2, MPI_COMM_WORLD)); },
     {"different roots", "ranks 0 and 1 call MPI_Bcast (root 0, 16 bytes of 4-byte integers)",
      "rank 2 calls MPI_Bcast (root 1,"}},
    {"counts",
     [](int rank, int) { MPI(Allreduce(numbers, others, rank == 2 ? 5 : 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD)); },
     {"different counts", "MPI_Allreduce (MPI_SUM, 16 bytes", "rank 2 calls MPI_Allreduce (MPI_SUM, 20 bytes"}},
    {"datatypes",
     [](int rank, int) { MPI(Bcast(numbers, 4, rank == 2 ? MPI_FLOAT : MPI_INT, 0, MPI_COMM_WORLD)); },
     {"different datatypes", "4-byte integers",
      "rank 2 calls MPI_Bcast (root 0, 16 bytes of 4-byte floating-point numbers"}},
    {"complex",
     [](int rank, int) {
       MPI(Bcast(numbers, rank == 2 ? 2 : 1, rank == 2 ? MPI_DOUBLE : MPI_C_DOUBLE_COMPLEX, 0, MPI_COMM_WORLD));
     },
     {"different datatypes", "16-byte complex numbers", "8-byte floating-point numbers"}},
    {"pairs",
     [](int rank, int) { MPI(Bcast(numbers, 2, rank == 2 ? MPI_2INT : MPI_FLOAT_INT, 0, MPI_COMM_WORLD)); },
     {"different datatypes", "elements of several types", "4-byte integers"}},
    {"structs",
     [](int rank, int) {
       const int lengths[] = {1, 1};
       const MPI_Aint at[] = {0, 4};
       const MPI_Datatype of[] = {MPI_INT, rank == 2 ? MPI_INT : MPI_FLOAT};
       MPI_Datatype type;
       MPI_Type_create_struct(2, lengths, at, of, &type);
       MPI(Type_commit(&type));
       MPI(Bcast(numbers, 3, type, 0, MPI_COMM_WORLD));
     },
     {"different datatypes", "elements of several types", "24 bytes of 4-byte integers"}},
    {"operations",
     [](int rank, int) { MPI(Reduce(numbers, others, 4, MPI_INT, rank == 2 ? MPI_MAX : MPI_SUM, 0, MPI_COMM_WORLD)); },
     {"different reductions", "MPI_Reduce (root 0, MPI_SUM", "rank 2 calls MPI_Reduce (root 0, MPI_MAX"}},
    {"order",
     [](int rank, int) {
       if (rank == 2)
         MPI(Barrier(MPI_COMM_WORLD));
       else
         MPI(Bcast(numbers, 4, MPI_INT, 0, MPI_COMM_WORLD));
     },
     {"different operations", "ranks 0 and 1 call MPI_Bcast", "rank 2 calls MPI_Barrier"}},
    {"forms",
     [](int rank, int) {
       MPI_Request request;
       if (rank == 2)
         MPI(Iallreduce(numbers, others, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
       else
         MPI(Allreduce(numbers, others, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
     },
     {"different operations", "ranks 0 and 1 call MPI_Allreduce", "rank 2 calls MPI_Iallreduce"}},
    {"parts",
     [](int rank, int) {
       const int at[] = {0, 4, 8}, sent[] = {rank == 2 ? 2 : 1, 1, 1}, received[] = {1, 1, 1};
       MPI(Alltoallv(numbers, sent, at, MPI_INT, others, received, at, MPI_INT, MPI_COMM_WORLD));
     },
     {"different counts or datatypes: rank 2 (MPI_Alltoallv at", "sends 8 bytes to rank 0",
      "receives 4 bytes from it"}},
    {"gathered",
     [](int rank, int) {
       const int at[] = {0, 4, 8}, received[] = {1, 1, 1};
       MPI(Gatherv(numbers, rank == 2 ? 2 : 1, MPI_INT, others, received, at, MPI_INT, 0, MPI_COMM_WORLD));
     },
     {"rank 2 (MPI_Gatherv at", "sends 8 bytes to rank 0", "receives 4 bytes from it"}},
    {"types_of_parts",
     [](int rank, int) {
       const int at[] = {0, 4, 8}, counts[] = {1, 1, 1};
       const MPI_Datatype type = rank == 2 ? MPI_FLOAT : MPI_INT;
       MPI(Alltoallv(numbers, counts, at, type, others, counts, at, type, MPI_COMM_WORLD));
     },
     {"different counts or datatypes", "4 bytes of other types"}},
    {"makers",
     [](int rank, int) {
       MPI_Comm half;
       if (rank == 2)
         MPI(Barrier(MPI_COMM_WORLD));
       else
         MPI(Comm_split(MPI_COMM_WORLD, 0, 0, &half));
     },
     {"different operations", "ranks 0 and 1 call MPI_Comm_split", "rank 2 calls MPI_Barrier"}},
    {"early_end",
     [](int rank, int) {
       if (rank != 2) MPI(Allreduce(numbers, others, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
     },
     {"different operations", "ranks 0 and 1 call MPI_Allreduce", "rank 2 calls MPI_Finalize"}},
    {"changed",
     [](int rank, int) {
       MPI_Request request;
       MPI(Iallreduce(numbers, others, 64, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
       if (rank == 2) numbers[5] = 7;
       MPI(Wait(&request, MPI_STATUS_IGNORE));
     },
     {"rank 2: the send buffer of MPI_Iallreduce", "was changed before the operation was completed"},
     false},
    {"overlapping",
     [](int rank, int) {
       int* const into = rank == 2 ? numbers + 3 : others;
       MPI(Allgather(numbers, 4, MPI_INT, into, 4, MPI_INT, MPI_COMM_WORLD));
     },
     {"rank 2: the send and the receive buffer of MPI_Allgather", "overlap, and MPI_IN_PLACE is not given"},
     false},
    {"shared",
     [](int rank, int) {
       MPI_Request requests[2];
       MPI(Ibcast(numbers, 4, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]));
       MPI(Iallreduce(others, rank == 2 ? numbers : others + 20, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]));
       MPI(Waitall(2, requests, MPI_STATUSES_IGNORE));
     },
     {"rank 2: the receive buffer of MPI_Iallreduce", "of MPI_Ibcast, which is under way"},
     false},
    {"missing",
     [](int rank, int) {
       MPI(Barrier(MPI_COMM_WORLD));
       if (rank == 2) sleep(2);
       MPI(Barrier(MPI_COMM_WORLD));
     },
     {"has", "not reached MPI_Barrier, call no. 2 on MPI_COMM_WORLD", "rank 2 is in no call that omnes sees since",
      "its last one was MPI_Barrier"},
     false,
     {{"OMNES_CHECK_TIMEOUT", "1"}}},
    {"results",
     [](int rank, int) {
       MPI_Op op;
       MPI_Op_create(subtract, 1, &op);
       for (int& number : numbers) number = 1 + rank * rank;
       for (int times = 0; times < 2; ++times) MPI(Allreduce(numbers, others, 4, MPI_INT, op, MPI_COMM_WORLD));
       MPI(Op_free(&op));
     },
     {"the result of MPI_Allreduce, call no. ", " is not that of the MPI: element 0 is ", " instead of "},
     false,
     {{"OMNES_CHECK", "results"}, {"OMNES_ALLREDUCE", "ring"}}},
    {"results_of_doubles",
     [](int rank, int) {
       MPI_Op op;
       MPI_Op_create(subtract_doubles, 1, &op);
       double mine[4], all[4];
       for (double& number : mine) number = 1.5 + rank * rank;
       MPI_Request request;
       MPI(Iallreduce(mine, all, 4, MPI_DOUBLE, op, MPI_COMM_WORLD, &request));
       MPI(Wait(&request, MPI_STATUS_IGNORE));
       MPI(Op_free(&op));
     },
     {"the result of MPI_Iallreduce, call no. ", " is not that of the MPI: element 0 is ", " instead of "},
     false,
     {{"OMNES_CHECK", "results"}, {"OMNES_ALLREDUCE", "ring"}}},
};

}  // namespace programs
