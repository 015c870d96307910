// SPDX-License-Identifier: Apache-2.0
// The cpu framework without a library, only for programs of one binary (see core/export.hpp). Define TENON_HEADER_ONLY
// for every file.
#pragma once

#ifndef TENON_HEADER_ONLY
#error "define TENON_HEADER_ONLY on the whole program before including this header, or link tenon::cpu instead"
#endif

#include <tenon/core/header_only.hpp>

#include <tenon/frameworks/cpu/cpu.cpp>
#include <tenon/frameworks/cpu/pool.cpp>
#include <tenon/frameworks/cpu/posix/eventfd.cpp>
#include <tenon/frameworks/cpu/posix/poll.cpp>
