// SPDX-License-Identifier: Apache-2.0
// The dlpack framework without a library, only for programs of one binary (see core/export.hpp). Define
// TENON_HEADER_ONLY for every file.
#pragma once

#ifndef TENON_HEADER_ONLY
#error "define TENON_HEADER_ONLY on the whole program before including this header, or link tenon::dlpack instead"
#endif

#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/cpu/header_only.hpp>

#include <tenon/frameworks/dlpack/dlpack.cpp>
#include <tenon/frameworks/dlpack/exchange.cpp>
