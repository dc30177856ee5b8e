// Finds the unwinding tables of the object that holds an address, for the unwinder that a preloaded library carries.
//
// Why: the compiler's own unwinder asks the C library's function of this name, if there was one where the compiler was built. It came
// with glibc 2.35, so no older system could load the library. Exceptions are rare here: they need not be found as fast.
#include <dlfcn.h>
#include <link.h>

#include <cstddef>

#ifdef DLFO_STRUCT_HAS_EH_DBASE

#if DLFO_STRUCT_HAS_EH_DBASE || DLFO_STRUCT_HAS_EH_COUNT
#error "the unwinder wants to know more here than what is found below"
#endif

namespace {

struct Search {
  ElfW(Addr) address;
  dl_find_object* found;
};

int look_into(dl_phdr_info* object, std::size_t, void* data) {
  const auto& [address, found] = *static_cast<const Search*>(data);
  const ElfW(Phdr)* tables = nullptr;
  bool holds = false;
  for (const ElfW(Phdr)* part = object->dlpi_phdr; part != object->dlpi_phdr + object->dlpi_phnum; ++part) {
    if (part->p_type == DLFO_EH_SEGMENT_TYPE) tables = part;
    const ElfW(Addr) start = object->dlpi_addr + part->p_vaddr;
    if (part->p_type != PT_LOAD || address < start || address >= start + part->p_memsz) continue;
    holds = true;
    found->dlfo_map_start = reinterpret_cast<void*>(start);
    found->dlfo_map_end = reinterpret_cast<void*>(start + part->p_memsz);
  }
  if (!holds || !tables) return 0;
  found->dlfo_eh_frame = reinterpret_cast<void*>(object->dlpi_addr + tables->p_vaddr);
  return 1;
}

}  // namespace

/// Hidden, as all that is not exported: nobody else's exceptions come here. Returns 0, or -1 if no object holds the address, or that has no tables.
extern "C" int _dl_find_object(void* address, dl_find_object* found) noexcept {
  *found = {};
  Search search{reinterpret_cast<ElfW(Addr)>(address), found};
  return dl_iterate_phdr(look_into, &search) != 0 ? 0 : -1;
}

#endif
