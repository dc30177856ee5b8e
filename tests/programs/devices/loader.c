// A library that loads another one by its name alone, which only this library's run path finds.
#include <dlfcn.h>

void* load_plugin(void) { return dlopen("libplugin_of_loader.so", RTLD_NOW); }
