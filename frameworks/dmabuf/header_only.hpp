// SPDX-License-Identifier: Apache-2.0
// The dmabuf framework without a library, only for programs of one binary (see core/export.hpp). Define
// TENON_HEADER_ONLY for every file.
#pragma once

#ifndef TENON_HEADER_ONLY
#error "define TENON_HEADER_ONLY on the whole program before including this header, or link tenon::dmabuf instead"
#endif

#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/cpu/header_only.hpp>

#include <tenon/frameworks/dmabuf/context.cpp>
#include <tenon/frameworks/dmabuf/frame.cpp>
#include <tenon/frameworks/dmabuf/memory.cpp>
#include <tenon/frameworks/dmabuf/native.cpp>
#include <tenon/frameworks/dmabuf/sync.cpp>
