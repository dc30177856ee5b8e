// Looks at all variables of MPI_T as a tool does, forces an algorithm by one of omnes, sees it run, and counts calls. Arguments: "absent":
// there are none of omnes; "list": names the others, and ends.
#include <pthread.h>
#include <sched.h>

#include "check.h"

enum { LONGEST = 4096, CALLS = 100, any = -1 };

#define EXPECT(expected, call)                                                        \
  do {                                                                                \
    const int got = (call), wanted = (expected);                                      \
    if (got != wanted) fail("line %d: %s: %d, not %d", __LINE__, #call, got, wanted); \
  } while (0)
#define OK(call) EXPECT(MPI_SUCCESS, call)

static int is_ours(const char* name) { return !strncmp(name, "omnes", 5) || !strncmp(name, "OMNES_", 6); }

// Null: Open MPI has nothing there any more.
static char* cvar_name(int index, int* bind, int* scope, MPI_Datatype* type) {
  char name[LONGEST], about[LONGEST], cut[4] = "xxx";
  int length = sizeof name, about_length = sizeof about, verbosity, cut_length = sizeof cut;
  MPI_T_enum enumeration;
  const int code =
      MPI_T_cvar_get_info(index, name, &length, &verbosity, type, &enumeration, about, &about_length, bind, scope);
  if (code != MPI_SUCCESS) return NULL;
  if (is_ours(name)) {
    if (length != (int)strlen(name) + 1) fail("%s: length %d", name, length);
    if (about_length < 10) fail("%s: says \"%s\"", name, about);
    OK(MPI_T_cvar_get_info(index, cut, &cut_length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    if (cut_length != length || strncmp(cut, name, 3) || cut[3]) fail("%s: cut to \"%s\", %d", name, cut, cut_length);
  }
  return strdup(name);
}

// Likewise.
static char* pvar_name(int index, int* class) {
  char name[LONGEST], about[LONGEST];
  int length = sizeof name, about_length = sizeof about, verbosity, bind, readonly, continuous, atomic;
  MPI_Datatype type;
  MPI_T_enum enumeration;
  const int code = MPI_T_pvar_get_info(index, name, &length, &verbosity, class, &type, &enumeration, about,
                                       &about_length, &bind, &readonly, &continuous, &atomic);
  if (code != MPI_SUCCESS) return NULL;
  return strdup(name);
}

static void expect_unique(char** names, int count, int ours) {
  int found = 0;
  for (int i = 0; i < count; ++i) {
    if (!names[i] || !is_ours(names[i])) continue;
    ++found;
    for (int j = 0; j < i; ++j)
      if (names[j] && !strcmp(names[i], names[j])) fail("%s is there twice", names[i]);
  }
  if (ours != any && (found < ours || (ours == 0 && found > 0))) fail("%d of omnes", found);
  for (int i = 0; i < count; ++i) free(names[i]);
  free(names);
}

// With `says` it names what of the MPI's own can be read.
static void walk(int ours, int says) {
  static long long value[LONGEST];
  int count = 0, again = 0, index, class;
  OK(MPI_T_cvar_get_num(&count));
  char** names = calloc(count, sizeof *names);
  for (int i = 0; i < count; ++i) {
    int bind, scope, elements, size;
    MPI_Datatype type;
    MPI_T_cvar_handle handle;
    names[i] = cvar_name(i, &bind, &scope, &type);
    if (!names[i]) continue;
    OK(MPI_T_cvar_get_index(names[i], &index));
    if (is_ours(names[i]) && index != i) fail("%s is at %d, and at %d", names[i], i, index);
    if (bind != MPI_T_BIND_NO_OBJECT || MPI_T_cvar_handle_alloc(i, NULL, &handle, &elements) != MPI_SUCCESS) continue;
    OK(MPI_Type_size(type, &size));
    const int read = (size_t)elements * size < sizeof value && MPI_T_cvar_read(handle, value) == MPI_SUCCESS;
    if (says && read && !is_ours(names[i])) printf("%s\n", names[i]);
    if (is_ours(names[i])) {
      if (!read) fail("%s cannot be read", names[i]);
      if ((int)strlen((char*)value) >= elements) fail("%s is longer than %d", names[i], elements);
      EXPECT(MPI_T_ERR_CVAR_SET_NEVER, MPI_T_cvar_write(handle, "1"));
    }
    OK(MPI_T_cvar_handle_free(&handle));
    if (handle != MPI_T_CVAR_HANDLE_NULL) fail("the handle of %s is left", names[i]);
  }
  expect_unique(names, count, ours);
  OK(MPI_T_cvar_get_num(&again));
  if (ours > 0)
    EXPECT(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_get_info(again, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  EXPECT(MPI_T_ERR_INVALID_NAME, MPI_T_cvar_get_index("omnes_no_such", &index));

  OK(MPI_T_pvar_get_num(&count));
  names = calloc(count, sizeof *names);
  for (int i = 0; i < count; ++i) {
    names[i] = pvar_name(i, &class);
    if (!names[i]) continue;
    OK(MPI_T_pvar_get_index(names[i], class, &index));
    if (says && !is_ours(names[i])) printf("%s\n", names[i]);
    if (is_ours(names[i]) && index != i) fail("%s is at %d, and at %d", names[i], i, index);
  }
  expect_unique(names, count, ours);
  EXPECT(MPI_T_ERR_INVALID_NAME, MPI_T_pvar_get_index("omnes_no_such", MPI_T_PVAR_CLASS_COUNTER, &index));
}

static void look_at_categories(int ours) {
  int count, found = 0, index;
  OK(MPI_T_category_get_num(&count));
  for (int i = 0; i < count; ++i) {
    char name[LONGEST], about[LONGEST];
    int length = sizeof name, about_length = sizeof about, controls, performances, categories, bind, scope, class;
    if (MPI_T_category_get_info(i, name, &length, about, &about_length, &controls, &performances, &categories) !=
        MPI_SUCCESS)
      continue;
    const int is_it = !strcmp(name, "omnes");
    found += is_it;
    OK(MPI_T_category_get_index(name, &index));
    if (is_it && index != i) fail("omnes is at %d, and at %d", i, index);
    int* const members = calloc(controls + performances + categories + 1, sizeof *members);
    MPI_Datatype type;
    OK(MPI_T_category_get_cvars(i, controls, members));
    for (int j = 0; j < controls; ++j) {
      char* const member = cvar_name(members[j], &bind, &scope, &type);
      if (member && is_ours(member) != is_it) fail("%s is in %s", member, name);
      free(member);
    }
    OK(MPI_T_category_get_pvars(i, performances, members));
    for (int j = 0; j < performances; ++j) {
      char* const member = pvar_name(members[j], &class);
      if (member && is_ours(member) != is_it) fail("%s is in %s", member, name);
      free(member);
    }
    OK(MPI_T_category_get_categories(i, categories, members));
    for (int j = 0; j < categories; ++j)
      if (members[j] < 0 || members[j] >= count) fail("%s has category %d of %d", name, members[j], count);
    free(members);
  }
  if (found != ours) fail("%d categories of omnes", found);
}

static MPI_T_cvar_handle control(const char* name, MPI_Comm* comm) {
  int index, count;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  OK(MPI_T_cvar_get_index(name, &index));
  OK(MPI_T_cvar_handle_alloc(index, comm, &handle, &count));
  return handle;
}

static void expect_text(MPI_T_cvar_handle handle, const char* expected) {
  char text[LONGEST] = "?";
  OK(MPI_T_cvar_read(handle, text));
  if (strcmp(text, expected)) fail("\"%s\", not \"%s\"", text, expected);
}

static void allreduce(MPI_Comm comm) {
  int one = 1, sum = 0, p;
  MPI_Comm_size(comm, &p);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (sum != p) fail("sum %d of %d", sum, p);
}

static void force(void) {
  MPI_Comm comm;
  char text[LONGEST];
  int p;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_size(comm, &p);
  MPI_T_cvar_handle wish = control("omnes_allreduce", &comm), chosen = control("omnes_allreduce_chosen", &comm),
                    error = control("omnes_error", NULL);
  expect_text(wish, "");
  for (int i = 0; i < 3; ++i) allreduce(comm);  // one that is known has to be chosen anew
  OK(MPI_T_cvar_write(wish, "ring"));
  expect_text(wish, "ring");
  expect_text(chosen, "");
  allreduce(comm);
  if (p > 1) expect_text(chosen, "ring");
  EXPECT(MPI_T_ERR_INVALID, MPI_T_cvar_write(wish, "rign"));
  OK(MPI_T_cvar_read(error, text));
  if (!strstr(text, "omnes_allreduce: ") || !strstr(text, "rign")) fail("says \"%s\"", text);
  expect_text(wish, "ring");
  OK(MPI_T_cvar_write(wish, "recursive_doubling"));
  allreduce(comm);
  if (p > 1) expect_text(chosen, "recursive_doubling");
  OK(MPI_T_cvar_write(wish, ""));
  expect_text(wish, "");
  allreduce(comm);
  EXPECT(MPI_T_ERR_CVAR_SET_NEVER, MPI_T_cvar_write(chosen, "ring"));
  OK(MPI_T_cvar_handle_free(&chosen));
  MPI_Comm_free(&comm);
  EXPECT(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_read(wish, text));
  EXPECT(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_write(wish, "ring"));
  OK(MPI_T_cvar_handle_free(&wish));
  OK(MPI_T_cvar_handle_free(&error));
}

static MPI_T_pvar_handle performance(MPI_T_pvar_session session, const char* name, int class) {
  int index, count;
  MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
  OK(MPI_T_pvar_get_index(name, class, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
  if (count != 1) fail("%s has %d elements", name, count);
  return handle;
}

static void expect_count(MPI_T_pvar_session session, MPI_T_pvar_handle handle, unsigned long long expected) {
  unsigned long long value = ~0ull;
  OK(MPI_T_pvar_read(session, handle, &value));
  if (value != expected) fail("%llu calls, not %llu", value, expected);
}

// Returns how many calls that is.
static int broadcast_in_all_forms(MPI_Comm comm) {
  int data = 1, calls = CALLS;
  MPI_Request request;
  for (int i = 0; i < CALLS; ++i) MPI_Bcast(&data, 1, MPI_INT, 0, comm);
  MPI_Ibcast(&data, 1, MPI_INT, 0, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  ++calls;
#if HAS_PERSISTENT
  MPI_Bcast_init(&data, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &request);
  for (int i = 0; i < 3; ++i, ++calls) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request);
#endif
  return calls;
}

static void count(void) {
  MPI_T_pvar_session session, other;
  MPI_Comm comm;
  unsigned long long value = 7;
  int p, index, ignored;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_size(comm, &p);
  OK(MPI_T_pvar_session_create(&session));
  OK(MPI_T_pvar_session_create(&other));
  MPI_T_pvar_handle served = performance(session, "omnes_bcast_served", MPI_T_PVAR_CLASS_COUNTER);
  MPI_T_pvar_handle passed = performance(session, "omnes_bcast_passed", MPI_T_PVAR_CLASS_COUNTER);
  MPI_T_pvar_handle there = performance(session, "omnes_communicators", MPI_T_PVAR_CLASS_LEVEL);

  expect_count(session, served, 0);
  OK(MPI_T_pvar_start(session, served));
  OK(MPI_T_pvar_start(session, passed));
  int calls = broadcast_in_all_forms(comm);
  if (p > 1) {
    expect_count(session, served, calls);
    expect_count(session, passed, 0);
    OK(MPI_T_pvar_read(session, there, &value));
    if (value < 1) fail("no communicator");
  }
  for (int i = 0; i < 3; ++i) MPI_Bcast(&calls, 1, MPI_INT, 0, MPI_COMM_SELF);
  if (p > 1) expect_count(session, passed, 3);
  OK(MPI_T_pvar_stop(session, served));
  MPI_Bcast(&calls, 1, MPI_INT, 0, comm);
  if (p > 1) expect_count(session, served, calls);
  value = 40;
  OK(MPI_T_pvar_write(session, served, &value));
  OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
  MPI_Bcast(&calls, 1, MPI_INT, 0, comm);
  MPI_Comm_free(&comm);  // what was counted there still counts
  OK(MPI_T_pvar_readreset(session, served, &value));
  if (p > 1 && value != 41) fail("%llu, not 41", value);
  expect_count(session, served, 0);
  OK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
  OK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
  expect_count(session, passed, 0);

  EXPECT(MPI_T_ERR_PVAR_NO_STARTSTOP, MPI_T_pvar_start(session, there));
  EXPECT(MPI_T_ERR_PVAR_NO_STARTSTOP, MPI_T_pvar_stop(session, there));
  EXPECT(MPI_T_ERR_PVAR_NO_WRITE, MPI_T_pvar_write(session, there, &value));
  EXPECT(MPI_T_ERR_PVAR_NO_WRITE, MPI_T_pvar_reset(session, there));
  EXPECT(MPI_T_ERR_PVAR_NO_ATOMIC, MPI_T_pvar_readreset(session, there, &value));
  EXPECT(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(other, served, &value));
  OK(MPI_T_pvar_get_num(&index));
  EXPECT(MPI_T_ERR_INVALID_INDEX, MPI_T_pvar_handle_alloc(session, index, NULL, &there, &ignored));
  OK(MPI_T_pvar_get_index("omnes_bcast_served", MPI_T_PVAR_CLASS_COUNTER, &index));
  EXPECT(MPI_T_ERR_INVALID_NAME, MPI_T_pvar_get_index("omnes_bcast_served", MPI_T_PVAR_CLASS_LEVEL, &ignored));
  EXPECT(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_handle_alloc(MPI_T_PVAR_SESSION_NULL, index, NULL, &there, &ignored));
  EXPECT(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_read(MPI_T_PVAR_SESSION_NULL, served, &value));
  OK(MPI_T_pvar_handle_free(session, &served));
  if (served != MPI_T_PVAR_HANDLE_NULL) fail("a handle is left");
  OK(MPI_T_pvar_session_free(&session));  // with the other handles
  OK(MPI_T_pvar_session_free(&other));
}

// Looks on while the other thread calls.
static volatile int ended = 0;
static void* look_on(void* comm) {
  MPI_T_pvar_session session;
  char text[LONGEST];
  unsigned long long before = 0, now = 0;
  OK(MPI_T_pvar_session_create(&session));
  MPI_T_pvar_handle served = performance(session, "omnes_allreduce_served", MPI_T_PVAR_CLASS_COUNTER);
  MPI_T_cvar_handle chosen = control("omnes_allreduce_chosen", comm);
  OK(MPI_T_pvar_start(session, served));
  while (!ended) {
    sched_yield();
    OK(MPI_T_pvar_read(session, served, &now));
    if (now < before) fail("%llu calls after %llu", now, before);
    before = now;
    OK(MPI_T_cvar_read(chosen, text));
  }
  OK(MPI_T_cvar_handle_free(&chosen));
  OK(MPI_T_pvar_session_free(&session));
  return NULL;
}

int main(int argc, char** argv) {
  const int absent = argc > 1 && !strcmp(argv[1], "absent");
  const int list = argc > 1 && !strcmp(argv[1], "list");
  int provided, level, number;
  EXPECT(MPI_T_ERR_NOT_INITIALIZED, MPI_T_cvar_get_num(&number));
  OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_T_cvar_get_num(&number));
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (list) {
    walk(any, 1);
    MPI_Finalize();
    return failures > 0;
  }
  walk(absent ? 0 : 50, 0);
  look_at_categories(absent ? 0 : 1);
  if (!absent) {
    force();
    count();
    MPI_Comm comm = MPI_COMM_WORLD;
    pthread_t thread;
    const int looks = provided == MPI_THREAD_MULTIPLE && level == MPI_THREAD_MULTIPLE;
    if (looks) pthread_create(&thread, NULL, look_on, &comm);
    for (int i = 0; i < 5 * CALLS; ++i) allreduce(comm);
    ended = 1;
    if (looks) pthread_join(thread, NULL);
  }
  OK(MPI_T_finalize());  // Open MPI 4.1 crashes where it comes after MPI_Finalize
  return finish();
}
