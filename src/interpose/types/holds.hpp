// Datatypes and operations that operations under way still need: the program may free them at once (MPI-4.1, sections
// 5.1.9 and 6.9.5), and then they are freed when the last of those operations is over. Handles of both may be of one C
// type, hence the names.
#pragma once

#include "interpose/host/host.hpp"

namespace omnes::interpose::holds {

void take_type(MPI_Datatype type);
void give_back_type(MPI_Datatype type);
void take_op(MPI_Op op);
void give_back_op(MPI_Op op);

/// The program frees it. Returns whether that has to wait; else the host may free it now.
bool put_off_type(MPI_Datatype type);
bool put_off_op(MPI_Op op);

/// Open MPI's own nonblocking collectives need their communicator until they end, though a program may free it at once. Only a component can
/// keep it for them.
#ifdef OMNES_COMPONENT
void take_communicator(MPI_Comm comm);
void give_back_communicator(MPI_Comm comm);
#else
inline void take_communicator(MPI_Comm) {}
inline void give_back_communicator(MPI_Comm) {}
#endif

}  // namespace omnes::interpose::holds
