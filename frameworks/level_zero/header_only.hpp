// SPDX-License-Identifier: Apache-2.0
// The framework without a library, only for programs of one binary (see core/export.hpp). Define TENON_HEADER_ONLY for every file.
#pragma once

#ifndef TENON_HEADER_ONLY
#error "define TENON_HEADER_ONLY on the whole program before including this header, or link tenon::level_zero instead"
#endif

#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/cpu/header_only.hpp>
#include <tenon/frameworks/dmabuf/header_only.hpp>
#include <tenon/frameworks/level_zero/context.cpp>
#include <tenon/frameworks/level_zero/contexts.cpp>
#include <tenon/frameworks/level_zero/device.cpp>
#include <tenon/frameworks/level_zero/dmabuf_edges.cpp>
#include <tenon/frameworks/level_zero/edges.cpp>
#include <tenon/frameworks/level_zero/native.cpp>
#include <tenon/frameworks/level_zero/stream.cpp>
#include <tenon/frameworks/level_zero/sync.cpp>
#include <tenon/frameworks/level_zero/system_import.cpp>
#include <tenon/frameworks/level_zero/transfer.cpp>
