// Datatypes of the program, understood as it makes them.
//
// Overview: programs make a type around a call and free it after. To examine one takes the host some ten calls; but what a
// row, a column or a list of blocks of known elements is, its constructor's arguments tell. So these constructors leave a note
// of it; once the type is committed, look_up_type() finds the note and asks the host nothing. Most such types are for
// messages, and cost no more than the note. Types made in other ways, or by one thread and used by another, are examined
// when first used.
//
// Why it is correct: freeing a type, or committing one of which there is no note, begins another generation of its handle, in
// which no note is found. What look_up_type() is given stays: types that look alike share it.
#pragma once

#include "interpose/types/types.hpp"

namespace omnes::interpose::constructed {

/// What is known of a type of which others are made. Null: nothing.
const TypeInfo* known(MPI_Datatype type);

/// `made`: of a known element, looks like this.
void note(MPI_Datatype made, const TypeInfo& info);
/// `count` blocks of `length` elements without gaps, `stride` bytes from one to the next.
void note_blocks(MPI_Datatype made, const TypeInfo& element, MPI_Count count, MPI_Count length, MPI_Count stride);

/// Blocks that a constructor lists: block i has lengths[i] elements, or `length` where there are no lengths, and begins at
/// displacements[i], an int or MPI_Aint, times `unit` bytes.
template <class Displacement>
void note_listed(MPI_Datatype made, const TypeInfo& element, int count, const int* lengths, int length,
                 const Displacement* displacements, MPI_Aint unit);

/// The host has committed it. Whether there is a note.
bool note_commit(MPI_Datatype type);

/// Of a committed type of which there is a note: one that stays, for all types of the program that look like this. Null:
/// not known, or there are too many kinds, or there is no memory.
const TypeInfo* committed(MPI_Datatype type);

}  // namespace omnes::interpose::constructed
