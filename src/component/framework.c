/* The component as Open MPI's framework of collectives sees it: its parameters, its module of each communicator, when MPI begins and ends.
 *
 * Each communicator with several ranks, of one group or two, gets a module. Its functions are those of src/interpose/exports/collectives.cpp; what it
 * takes the place of is kept, for what omnes does not serve. Ranks meet at the end of MPI_Init, which a hook of Open MPI tells. */
#include "ompi_config.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "component/bridge.h"
#include "ompi/communicator/communicator.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/hook/base/base.h"

#include "ompi/proc/proc.h"
#include "ompi/win/win.h"
#include "opal/util/output.h"

/* X(function of ours, member of Open MPI's module) for the three forms of each operation. */
#define MEMBERS(X, name, operation) \
  X(name, coll_##operation)         \
  X(I##operation, coll_i##operation) X(name##_init, coll_##operation##_init)
#define ALL_MEMBERS(X) MEMBERS(X, Barrier, barrier) OMNES_COLLECTIVES(MEMBERS, X)

#define DECLARE(name, member) int omnes_coll_##name();
ALL_MEMBERS(DECLARE)

typedef union {
  mca_coll_base_module_t super;
  struct {
    char open_mpis[OMNES_OFFSET_IN_MODULE];
    struct OmnesModule module;
    bool enabled;
  } ours;
} module_t;
_Static_assert(sizeof(mca_coll_base_module_t) <= OMNES_OFFSET_IN_MODULE, "ours lies behind Open MPI's");

static void construct(module_t* made) {
  memset(&made->ours.module, 0, sizeof made->ours.module);
  made->ours.enabled = false;
}

static void destruct(module_t* gone) {
#define RELEASE(name, member) \
  if (gone->ours.module.before.name.module) OBJ_RELEASE(gone->ours.module.before.name.module);
  ALL_MEMBERS(RELEASE)
}

static OBJ_CLASS_INSTANCE(module_t, mca_coll_base_module_t, construct, destruct);

static int priority = 90; /* above tuned's 30 and what wraps it for the memory of GPUs (cuda: 78) */
static bool aside = false;

static uint64_t hash_of(ompi_group_t* group) {
  const uint64_t prime = 0x100000001B3u; /* FNV-1a's */
  uint64_t hash = 0xCBF29CE484222325u;
  for (int i = 0; i < ompi_group_size(group); ++i) hash = (hash ^ ompi_group_get_proc_name(group, i).vpid) * prime;
  return hash;
}

/* Of an intercommunicator alike in both groups. */
static uint64_t hash_of_members(ompi_communicator_t* comm) {
  return hash_of(comm->c_local_group) + (OMPI_COMM_IS_INTER(comm) ? hash_of(comm->c_remote_group) : 0);
}

static bool are_of_this_job(ompi_group_t* group) {
  for (int i = 0; i < ompi_group_size(group); ++i)
    if (ompi_group_get_proc_name(group, i).jobid != ompi_proc_local()->super.proc_name.jobid) return false;
  return true;
}

/* One that omnes serves has several ranks, and all are of this job. */
static bool is_served(ompi_communicator_t* comm) {
  return are_of_this_job(comm->c_local_group) &&
         (OMPI_COMM_IS_INTER(comm) ? are_of_this_job(comm->c_remote_group) : ompi_comm_size(comm) > 1);
}

/* Those that exist are in an array that begins with MPI_WIN_NULL. */
static bool has_windows(void) {
  return opal_pointer_array_get_size(&ompi_mpi_windows) - ompi_mpi_windows.number_free > 1;
}

static int enable(mca_coll_base_module_t* module, ompi_communicator_t* comm) {
  module_t* const own = (module_t*)module;
#define TAKE(name, member)                                                          \
  if (comm->c_coll->member) {                                                       \
    own->ours.module.before.name.function = (void (*)(void))comm->c_coll->member;   \
    own->ours.module.before.name.module = comm->c_coll->member##_module;            \
    OBJ_RETAIN(comm->c_coll->member##_module);                                      \
    module->member = (__typeof__(module->member))(void (*)(void))omnes_coll_##name; \
  }
  ALL_MEMBERS(TAKE)
  omnes_communicator_made(comm, &own->ours.module, hash_of_members(comm), comm->c_contextid);
  own->ours.enabled = true;
  return OMPI_SUCCESS;
}

/* Which Open MPI calls once for each function of the module. */
static int disable(mca_coll_base_module_t* module, ompi_communicator_t* comm) {
  module_t* const own = (module_t*)module;
  if (own->ours.enabled) omnes_communicator_gone(comm);
  own->ours.enabled = false;
  return OMPI_SUCCESS;
}

static void mpi_init_bottom(int argc, char** argv, int requested, int* provided) {
  (void)argc, (void)argv, (void)requested, (void)provided;
  const int code = omnes_initialised();
  if (code == MPI_SUCCESS) return;
  /* What an error handler says that ends the job does not always get out. */
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  PMPI_Error_string(code, text, &length);
  if (ompi_comm_rank(MPI_COMM_WORLD) == 0) opal_output(0, "coll:omnes: %s", text);
  PMPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
}

static void mpi_finalize_top(void) { omnes_begin_end(); }

static ompi_hook_base_component_t hook = {
    .hookm_version = {OMPI_HOOK_BASE_VERSION_1_0_0, .mca_component_name = "omnes"},
    .hookm_mpi_init_bottom = mpi_init_bottom,
    .hookm_mpi_finalize_top = mpi_finalize_top,
};

/* MPI_Init has come to the first communicator. A library that also takes the place of PMPI's functions was named by the user. */
static void begin(int rank) {
  Dl_info in_front, own;
  void* const first = dlsym(RTLD_DEFAULT, "PMPI_Allreduce");
  aside = first && dladdr(first, &in_front) && dladdr((void*)ompi_hook_base_register_callbacks, &own) &&
          in_front.dli_fbase != own.dli_fbase;
  if (!aside) {
    ompi_hook_base_register_callbacks(&hook);
  } else if (rank == 0) {
    opal_output(0, "coll:omnes: steps aside, as %s is preloaded", in_front.dli_fname);
  }
}

static mca_coll_base_module_t* comm_query(ompi_communicator_t* comm, int* wanted) {
  *wanted = priority;
  if (priority < 0) return NULL;
  if (comm == MPI_COMM_WORLD) begin(ompi_comm_rank(comm));
  if (aside) return NULL;
  if (has_windows()) omnes_window_made();
  if (!is_served(comm)) return NULL;
  module_t* const made = OBJ_NEW(module_t);
  if (!made) return NULL;
  made->super.coll_module_enable = enable;
  made->super.coll_module_disable = disable;
  return &made->super;
}

static int init_query(bool progress_threads, bool mpi_threads) {
  (void)progress_threads, (void)mpi_threads;
  return OMPI_SUCCESS;
}

static int register_parameters(void);

OMPI_MODULE_DECLSPEC mca_coll_base_component_t mca_coll_omnes_component = {
    .collm_version = {MCA_COLL_BASE_VERSION_2_0_0, .mca_component_name = "omnes",
                      MCA_BASE_MAKE_VERSION(component, OMNES_VERSION_MAJOR, OMNES_VERSION_MINOR, OMNES_VERSION_PATCH),
                      .mca_register_component_params = register_parameters},
    .collm_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .collm_init_query = init_query,
    .collm_comm_query = comm_query,
};

static void register_one(const char* name, const char* about, mca_base_var_type_t type, void* value) {
  mca_base_component_var_register(&mca_coll_omnes_component.collm_version, name, about, type, NULL, 0, 0,
                                  OPAL_INFO_LVL_9, MCA_BASE_VAR_SCOPE_READONLY, value);
}

/* What is given as a parameter is what the environment says, unless that says something itself. */
static int register_parameters(void) {
  register_one("priority", "Above those of other components, omnes serves all collectives; negative: none",
               MCA_BASE_VAR_TYPE_INT, &priority);
  int count = 0;
  while (omnes_parameters()[count].name) ++count;
  static char** values; /* Open MPI keeps their addresses */
  if (!values) values = calloc((size_t)count, sizeof *values);
  if (!values) return OMPI_ERR_OUT_OF_RESOURCE;
  for (int i = 0; i < count; ++i) {
    const struct OmnesParameter* const parameter = &omnes_parameters()[i];
    register_one(parameter->name, parameter->about, MCA_BASE_VAR_TYPE_STRING, &values[i]);
    if (values[i]) setenv(parameter->variable, values[i], 0);
  }
  return OMPI_SUCCESS;
}
