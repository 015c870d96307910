# SPDX-License-Identifier: Apache-2.0
# Read by cpack for each kind of package: an archive is a tree of its own that can be moved, with all parts, while Debian's packages lie in /usr.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_PACKAGING_INSTALL_PREFIX "/")
endif()
