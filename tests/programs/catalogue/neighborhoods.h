// The topologies along which neighborhood operations are tried, and the complete graph of all others.
#ifndef CATALOGUE_NEIGHBORHOODS_H
#define CATALOGUE_NEIGHBORHOODS_H

#include "parts.h"

static void complete_graph(struct neighborhood* around) {
  *around = (struct neighborhood){.sources = p, .destinations = p};
  for (int k = 0; k < p; ++k) around->source[k] = around->destination[k] = k;
}

// Grids list for each dimension the neighbor below and the one above. What comes from below was sent upwards; so it is
// even where both are the same rank. Labels are directions.
static void add_dimension(struct neighborhood* around, MPI_Comm grid, int dimension) {
  int below, above;
  MPI_Cart_shift(grid, dimension, 1, &below, &above);
  const int k = 2 * dimension;
  around->source[k] = around->destination[k] = below;
  around->source[k + 1] = around->destination[k + 1] = above;
  around->destination_label[k] = around->source_label[k + 1] = k;
  around->destination_label[k + 1] = around->source_label[k] = k + 1;
  around->sources = around->destinations = k + 2;
}

static MPI_Comm make_ring(MPI_Comm comm, struct neighborhood* around) {
  MPI_Comm ring;
  const int round = 1;
  MPI_Cart_create(comm, 1, &p, &round, 0, &ring);
  add_dimension(around, ring, 0);
  return ring;
}

// With open borders.
static MPI_Comm make_grid(MPI_Comm comm, struct neighborhood* around) {
  MPI_Comm grid;
  int sides[2] = {0, 0};
  const int round[2] = {0, 0};
  MPI_Dims_create(p, 2, sides);
  MPI_Cart_create(comm, 2, sides, round, 0, &grid);
  add_dimension(around, grid, 0);
  add_dimension(around, grid, 1);
  return grid;
}

// Every rank points at the next two and at rank 0, which may be the same one twice or itself: as many edges lead there
// as there are ranks, and some ranks have more destinations than sources. Labels count repeated edges, and serve as weights.
static MPI_Comm make_directed(MPI_Comm comm, struct neighborhood* around) {
  *around = (struct neighborhood){0};
  for (int from = p - 1; from >= 0; --from) {
    const int targets[] = {(from + 1) % p, (from + 2) % p, 0};
    for (int k = 0; k < 3; ++k) {
      int label = 0;
      for (int j = 0; j < k; ++j) label += targets[j] == targets[k];
      if (from == rank) {
        around->destination_label[around->destinations] = label;
        around->destination[around->destinations++] = targets[k];
      }
      if (targets[k] == rank) {
        around->source_label[around->sources] = label;
        around->source[around->sources++] = from;
      }
    }
  }
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(comm, around->sources, around->source, around->source_label, around->destinations,
                                 around->destination, around->destination_label, MPI_INFO_NULL, 0, &graph);
  return graph;
}

// A star, with edges both ways.
static MPI_Comm make_star(MPI_Comm comm, struct neighborhood* around) {
  int ends[max_parts], edges[2 * max_parts];
  for (int k = 0; k < p; ++k) ends[k] = p - 1 + k;
  for (int k = 0; k < 2 * (p - 1); ++k) edges[k] = k < p - 1 ? k + 1 : 0;
  *around = (struct neighborhood){0};
  around->sources = around->destinations = rank == 0 ? p - 1 : 1;
  for (int k = 0; k < around->sources; ++k) around->source[k] = around->destination[k] = rank == 0 ? k + 1 : 0;
  MPI_Comm star;
  MPI_Graph_create(comm, p, ends, edges, 0, &star);
  return star;
}

static MPI_Comm (*const topologies[])(MPI_Comm comm, struct neighborhood* around) = {make_ring, make_grid,
                                                                                     make_directed, make_star};
enum { topology_count = sizeof topologies / sizeof *topologies };

#endif
