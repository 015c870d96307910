// SPDX-License-Identifier: Apache-2.0
// The d3d11 framework without a library, only for programs of one binary (see core/export.hpp). Define TENON_HEADER_ONLY for every file.
#pragma once

#ifndef TENON_HEADER_ONLY
#error "define TENON_HEADER_ONLY on the whole program before including this header, or link tenon::d3d11 instead"
#endif

#include <tenon/core/header_only.hpp>

#include <tenon/frameworks/d3d11/context.cpp>
#include <tenon/frameworks/d3d11/contexts.cpp>
#include <tenon/frameworks/d3d11/edges.cpp>
#include <tenon/frameworks/d3d11/memory.cpp>
#include <tenon/frameworks/d3d11/native.cpp>
#include <tenon/frameworks/d3d11/sync.cpp>
#include <tenon/frameworks/d3d11/transfer.cpp>
