# SPDX-License-Identifier: Apache-2.0
# The target tenon_wheel: what the Python package holds. pyproject.toml installs its parts for `pip install .`, scripts/wheel.py those of the
# release build.
if(NOT TARGET tenon_python)
  if(TENON_WHEEL)
    message(FATAL_ERROR "Tenon: the Python package cannot be built, the line 'python is off' above says why")
  endif()
  return()
endif()
add_custom_target(tenon_wheel)
get_property(components GLOBAL PROPERTY TENON_COMPONENTS)
list(TRANSFORM components PREPEND tenon_)
get_property(installed GLOBAL PROPERTY TENON_WHEEL_TARGETS)
foreach(target ${components} ${installed} tenon_python tenon_python_stubs tenon_pipeline_schema)
  if(TARGET ${target})
    add_dependencies(tenon_wheel ${target})
  endif()
endforeach()
