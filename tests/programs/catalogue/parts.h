// Operations that move parts: who sends how much to whom, where the parts lie, and what must arrive.
//
// Every operation is one along edges: an Alltoall is a neighborhood exchange on the complete graph, a Gather one in
// which all edges end at the root. Parts of unequal operations lie in reverse order, with a gap between them; those of
// the typed ones alternate between two layouts.
#ifndef CATALOGUE_PARTS_H
#define CATALOGUE_PARTS_H

#include "trial.h"

enum { max_parts = 128 };

// The ends of this rank's edges; MPI_PROC_NULL where a grid ends. Edges between the same two ranks differ by label.
struct neighborhood {
  int sources, destinations;
  int source[max_parts], source_label[max_parts];
  int destination[max_parts], destination_label[max_parts];
};

// Of one int.
struct layout {
  MPI_Datatype type;
  int place, extent;  // in ints
};

static struct layout layouts[2];

static void make_layouts(void) {
  MPI_Datatype shifted;
  layouts[0] = (struct layout){MPI_INT, 0, 1};
  layouts[1] = (struct layout){MPI_DATATYPE_NULL, 1, 3};
  const int one = 1, place = 1;
  MPI_Type_indexed(1, &one, &place, MPI_INT, &shifted);
  MPI_Type_create_resized(shifted, 0, 3 * sizeof(int), &layouts[1].type);
  MPI_Type_commit(&layouts[1].type);
  MPI_Type_free(&shifted);
}

// What a rank sends on an edge; the same for all targets where parts are alike.
struct part {
  int source, target, label, count;
  const struct layout* layout;
  size_t start;  // in ints
};

static int element(const struct part* part, int i) {
  return part->source * 1000003 + part->target * 7919 + part->label * 101 + turn * 13 + i;
}

// The parts of one side of a call, and the arrays that say so to MPI.
struct parts {
  int number;
  struct part part[max_parts];
  int counts[max_parts], displs[max_parts], offsets[max_parts];
  MPI_Aint addresses[max_parts];
  MPI_Datatype types[max_parts];
  size_t ints;  // in all
};

static struct parts sent, received;

// Symmetric in source and target, as the forms in place need it; a third of the parts is empty. What leads nowhere has
// a count as well.
static int count_of(const struct operation* o, int n, int source, int target, int label) {
  const int nowhere = source == MPI_PROC_NULL || target == MPI_PROC_NULL;
  return o->parts == equal || nowhere ? n : n * ((source + target + label + 1) % 3);
}

static void add(struct parts* side, const struct operation* o, int n, int source, int target, int label) {
  if (o->data == same) target = label = 0;
  side->part[side->number++] = (struct part){source, target, label, count_of(o, n, source, target, label), NULL, 0};
}

static void lay_out(struct parts* side, const struct operation* o, int layout) {
  const int apart = o->parts != equal;
  side->ints = 0;
  for (int i = 0; i < side->number; ++i) {
    const int k = apart ? side->number - 1 - i : i;
    struct part* part = &side->part[k];
    part->layout = &layouts[o->parts == typed ? (layout + k) % 2 : layout];
    part->start = side->ints;
    side->ints += (size_t)(part->count + apart) * part->layout->extent;
    side->counts[k] = part->count;
    side->displs[k] = (int)part->start / part->layout->extent;
    side->offsets[k] = (int)(part->start * sizeof(int));
    side->addresses[k] = side->offsets[k];
    side->types[k] = part->layout->type;
  }
}

static struct side described(const struct parts* side, const struct operation* o, int n, int layout) {
  return (struct side){.count = o->parts == equal || side->number == 0 ? n : side->counts[0],
                       .type = layouts[layout].type,
                       .counts = side->counts,
                       .displs = side->displs,
                       .offsets = side->offsets,
                       .addresses = side->addresses,
                       .types = side->types};
}

static void put(const struct part* part, const struct part* content, int* buffer) {
  if (content->source == MPI_PROC_NULL) return;
  for (int i = 0; i < part->count; ++i)
    buffer[part->start + (size_t)i * part->layout->extent + part->layout->place] = element(content, i);
}

static void fill_parts(struct trial* t) {
  const int bcast = t->operation->rooted == from_root && t->operation->data == same;
  const int scatter = t->operation->rooted == from_root && t->operation->data == distinct;
  for (int k = 0; k < sent.number; ++k) put(&sent.part[k], &sent.part[k], t->send);
  for (int k = 0; k < received.number; ++k) {
    const struct part* part = &received.part[k];
    if (scatter && t->in_place) continue;  // the root's part stays where it is
    put(part, part, t->wanted);
    struct part own = *part;
    if (t->operation->data == distinct) own.source = rank, own.target = part->source;
    if (bcast ? rank == t->call.root : t->in_place && (t->operation->data == distinct || part->source == rank))
      put(part, &own, t->recv);
  }
}

// Along the edges of a neighborhood; `root` is -1 where there is none.
static void move(const struct operation* o, enum form form, MPI_Comm comm, const struct neighborhood* around, int n,
                 int root, int send_layout, int recv_layout, int in_place) {
  sent.number = received.number = 0;
  const int at_root = o->rooted == nobody || rank == root;
  if (o->rooted == from_root && o->data == same) {
    add(&received, o, n, root, rank, 0);
    if (rank == root) recv_layout = send_layout;
  } else {
    const int sends = o->rooted == from_root ? at_root : 1;
    if (o->data == same) add(&sent, o, n, rank, 0, 0);
    for (int k = 0; k < around->destinations && sends && o->data == distinct; ++k)
      add(&sent, o, n, rank, around->destination[k], around->destination_label[k]);
    if (o->rooted == from_root)
      add(&received, o, n, root, rank, 0);
    else
      for (int k = 0; k < around->sources && at_root; ++k)
        add(&received, o, n, around->source[k], rank, around->source_label[k]);
  }
  lay_out(&sent, o, send_layout);
  lay_out(&received, o, recv_layout);
  struct trial t = {.operation = o, .form = form, .n = n, .fill = fill_parts};
  t.in_place = in_place && (o->rooted == nobody || rank == root);
  t.kind = send_layout == recv_layout ? (send_layout ? "spread ints" : "ints") : "ints to other displs";
  t.call.comm = comm;
  t.call.root = root;
  t.call.send = described(&sent, o, n, send_layout);
  t.call.recv = described(&received, o, n, recv_layout);
  t.send_ints = sent.ints;
  t.recv_ints = t.compared = received.ints;
  run(&t);
}

#endif
