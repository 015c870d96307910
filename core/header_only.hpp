// SPDX-License-Identifier: Apache-2.0
// Core without a library, only for programs of one binary (see export.hpp). Define TENON_HEADER_ONLY for every file.
#pragma once

#ifndef TENON_HEADER_ONLY
#error "define TENON_HEADER_ONLY on the whole program before including this header, or link tenon::core instead"
#endif

#include <tenon/core/audio.cpp>
#include <tenon/core/deferred.cpp>
#include <tenon/core/error.cpp>
#include <tenon/core/file.cpp>
#include <tenon/core/format_table.cpp>
#include <tenon/core/frame.cpp>
#include <tenon/core/frame_layout.cpp>
#include <tenon/core/hazards.cpp>
#include <tenon/core/host.cpp>
#include <tenon/core/ledger.cpp>
#include <tenon/core/mapped_file.cpp>
#include <tenon/core/memory.cpp>
#include <tenon/core/metadata.cpp>
#include <tenon/core/module_files.cpp>
#include <tenon/core/process_wide.cpp>
#include <tenon/core/proof.cpp>
#include <tenon/core/requirements.cpp>
#include <tenon/core/route.cpp>
#include <tenon/core/router.cpp>
#include <tenon/core/shared_memory.cpp>
#include <tenon/core/tensor.cpp>
#include <tenon/core/timeline.cpp>
#include <tenon/core/trace.cpp>
