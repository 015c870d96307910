// SPDX-License-Identifier: Apache-2.0
// The framework without a library, only for programs of one binary (see core/export.hpp). Define TENON_HEADER_ONLY for every file.
#pragma once

#ifndef TENON_HEADER_ONLY
#error "define TENON_HEADER_ONLY on the whole program before including this header, or link tenon::cuda instead"
#endif

#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/cpu/header_only.hpp>
#include <tenon/frameworks/cuda/context.cpp>
#include <tenon/frameworks/cuda/contexts.cpp>
#include <tenon/frameworks/cuda/device.cpp>
#include <tenon/frameworks/cuda/edges.cpp>
#include <tenon/frameworks/cuda/make.cpp>
#include <tenon/frameworks/cuda/memory.cpp>
#include <tenon/frameworks/cuda/native.cpp>
#include <tenon/frameworks/cuda/sync.cpp>
