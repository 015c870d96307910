// SPDX-License-Identifier: Apache-2.0
// The framework without a library, only for programs of one binary (see core/export.hpp). Define TENON_HEADER_ONLY for every file.
#pragma once

#ifndef TENON_HEADER_ONLY
#error "define TENON_HEADER_ONLY on the whole program before including this header, or link tenon::egl instead"
#endif

#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/cpu/header_only.hpp>
#include <tenon/frameworks/dmabuf/header_only.hpp>
#include <tenon/frameworks/egl/context.cpp>
#include <tenon/frameworks/egl/contexts.cpp>
#include <tenon/frameworks/egl/device.cpp>
#include <tenon/frameworks/egl/edges.cpp>
#include <tenon/frameworks/egl/export.cpp>
#include <tenon/frameworks/egl/native.cpp>
#include <tenon/frameworks/egl/sync.cpp>
#include <tenon/frameworks/egl/texture.cpp>
