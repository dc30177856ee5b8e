# Compiles the files of a folder as one, which reads once what they include: half the time for all of them, or less. So names
# in the nameless namespaces of a folder's files differ, or these namespaces are called OMNES_UNNAMED, which is another name in
# each file. What has compile options of its own, or is in no folder here, stays alone. Usage:
# omnes_compile_by_folder(TARGET [FOLDER...]), all of them or those and what is inside them.
function(omnes_compile_by_folder target)
  if(NOT OMNES_BY_FOLDER)
    return()
  endif()
  foreach(folder IN LISTS ARGN)
    list(APPEND within "^${CMAKE_CURRENT_SOURCE_DIR}/${folder}/")
  endforeach()
  list(JOIN within "|" within)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if((NOT within OR source MATCHES "${within}") AND source MATCHES "([a-z_]+)/[a-z_]+\\.cpp$")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${CMAKE_MATCH_1})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP UNITY_BUILD_UNIQUE_ID OMNES_UNNAMED)
  # A file's types may be made of nameless ones: the files are included, but only here.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()
