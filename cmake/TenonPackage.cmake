# SPDX-License-Identifier: Apache-2.0
# One Debian package of what is installed: runtime, tool, headers, driver, documentation; oneDNN, which Debian's package builds without
# TBB, lies beside it in lib/tenon.
set(doc "${CMAKE_INSTALL_DATADIR}/doc/tenon")
install(FILES README.md ARCHITECTURE.md LICENSE DESTINATION "${doc}")
install(DIRECTORY docs examples DESTINATION "${doc}")
# Pipelines name their schema where a build has it; from their installed place it is share/tenon's.
install(CODE "
  file(GLOB pipelines \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${doc}/examples/*/*.json\")
  foreach(pipeline IN LISTS pipelines)
    file(READ \"\${pipeline}\" text)
    string(REPLACE \"../../build/release/pipeline.schema.json\" \"../../../../tenon/pipeline.schema.json\" text \"\${text}\")
    file(WRITE \"\${pipeline}\" \"\${text}\")
  endforeach()")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tenon)
set(CPACK_PACKAGE_CONTACT "The developers of Tenon <tenon@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION "Tenon routes tensors between media, compute and inference frameworks without copies, proves that\nnothing was copied, and runs models where the memory is: on the CPU, on NPUs, and on a software NPU.")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # dpkg-shlibdeps finds the libraries' dependencies...
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${CMAKE_BINARY_DIR}/lib" "${TENON_DNNL_FOLDER}")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++, cmake, pkg-config, libavcodec-dev, libavformat-dev, libavutil-dev, libswscale-dev, libswresample-dev, libavdevice-dev, libgstreamer-plugins-base1.0-dev, libze-dev")  # ...and what its headers need.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "ffmpeg, graphviz")
include(CPack)
