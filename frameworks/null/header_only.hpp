// SPDX-License-Identifier: Apache-2.0
// The null framework without a library, only for programs of one binary (see core/export.hpp). Define TENON_HEADER_ONLY
// for every file. Lists every source of the folder that is no test.
#pragma once

#ifndef TENON_HEADER_ONLY
#error "define TENON_HEADER_ONLY on the whole program before including this header, or link tenon::null instead"
#endif

#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/cpu/header_only.hpp>

#include <tenon/frameworks/null/native.cpp>
#include <tenon/frameworks/null/null.cpp>
