// SPDX-License-Identifier: Apache-2.0
// Core without a library, only for programs of one binary (see export.hpp). Define TENON_HEADER_ONLY for every file.
#pragma once

#ifndef TENON_HEADER_ONLY
#error "define TENON_HEADER_ONLY on the whole program before including this header, or link tenon::core instead"
#endif

#include <tenon/core/base/any.cpp>
#include <tenon/core/base/error.cpp>
#include <tenon/core/base/file.cpp>
#include <tenon/core/base/host.cpp>
#include <tenon/core/base/mapped_file.cpp>
#include <tenon/core/base/memory.cpp>
#include <tenon/core/base/module_files.cpp>
#include <tenon/core/base/process_wide.cpp>
#include <tenon/core/base/requirements.cpp>
#include <tenon/core/base/tensor.cpp>
#include <tenon/core/base/unfinished.cpp>
#include <tenon/core/base/used_files.cpp>
#include <tenon/core/media/audio.cpp>
#include <tenon/core/media/format_table.cpp>
#include <tenon/core/media/frame.cpp>
#include <tenon/core/media/frame_layout.cpp>
#include <tenon/core/media/metadata.cpp>
#include <tenon/core/media/upright.cpp>
#include <tenon/core/media/zones.cpp>
#include <tenon/core/platform/header_only.hpp>
#include <tenon/core/route/context_modules.cpp>
#include <tenon/core/route/ledger.cpp>
#include <tenon/core/route/pointer_edges.cpp>
#include <tenon/core/route/proof.cpp>
#include <tenon/core/route/route.cpp>
#include <tenon/core/route/router.cpp>
#include <tenon/core/route/trace.cpp>
#include <tenon/core/sync/deferred.cpp>
#include <tenon/core/sync/hazards.cpp>
#include <tenon/core/sync/timeline.cpp>
