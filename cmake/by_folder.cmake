# Compiles the files of a folder as one, which reads once what they include: half the time for all of them. So names in the
# nameless namespaces of a folder's files differ. What has compile options of its own, or is in no folder here, stays alone.
function(omnes_compile_by_folder target)
  if(NOT OMNES_BY_FOLDER)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(source MATCHES "([a-z_]+)/[a-z_]+\\.cpp$")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${CMAKE_MATCH_1})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # A file's types may be made of nameless ones: the files are included, but only here.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()
