// SPDX-License-Identifier: Apache-2.0
// The bridge without a library, only for programs of one binary (see core/export.hpp). Define TENON_HEADER_ONLY for every file.
#pragma once

#ifndef TENON_HEADER_ONLY
#error "define TENON_HEADER_ONLY on the whole program before including this header, or link tenon::cuda_dlpack instead"
#endif

#include <tenon/bridges/cuda_dlpack/cuda_dlpack.cpp>
#include <tenon/bridges/cuda_dlpack/exchange.cpp>
#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/cuda/header_only.hpp>
#include <tenon/frameworks/dlpack/header_only.hpp>
