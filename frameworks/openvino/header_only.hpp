// SPDX-License-Identifier: Apache-2.0
// The openvino framework without a library of its own, only for programs of one binary (see core/export.hpp). Define
// TENON_HEADER_ONLY for every file.
#pragma once

#ifndef TENON_HEADER_ONLY
#error "define TENON_HEADER_ONLY on the whole program before including this header, or link tenon::openvino instead"
#endif

#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/cpu/header_only.hpp>

#include <tenon/frameworks/openvino/memory.cpp>
#include <tenon/frameworks/openvino/openvino.cpp>
#include <tenon/frameworks/openvino/remote.cpp>
