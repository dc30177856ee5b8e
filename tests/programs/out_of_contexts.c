// As many communicators as the host has contexts for, after some have been made, used and freed: as many as without these.
#include "check.h"

int main(int argc, char** argv) {
  enum { parents = 8, children = 8, enough = 2000 };  // MPICH has contexts for 2048
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  static MPI_Comm made[enough];
  MPI_Comm parent[parents], child[children];
  for (int i = 0; i < parents; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &parent[i]);
    MPI_Barrier(parent[i]);
    for (int k = 0; k < children; ++k) MPI_Comm_split(parent[i], 0, k, &child[k]);
    for (int k = 0; k < children; ++k) MPI_Comm_free(&child[k]);
  }
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  for (int i = 0; i < enough; ++i)
    if (MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &made[i]) != MPI_SUCCESS) return 1;
  for (int i = 0; i < enough; ++i) MPI_Comm_free(&made[i]);
  for (int i = 0; i < parents; ++i) MPI_Comm_free(&parent[i]);
  MPI_Group_free(&group);
  return finish();
}
