// SPDX-License-Identifier: Apache-2.0
// This framework without a library: see core/header_only.hpp.
#pragma once

#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/cpu/header_only.hpp>
#include <tenon/frameworks/dmabuf/header_only.hpp>

#include <tenon/frameworks/vaapi/context.cpp>
#include <tenon/frameworks/vaapi/display.cpp>
#include <tenon/frameworks/vaapi/edges.cpp>
#include <tenon/frameworks/vaapi/frame.cpp>
#include <tenon/frameworks/vaapi/memory.cpp>
#include <tenon/frameworks/vaapi/process.cpp>
#include <tenon/frameworks/vaapi/surface.cpp>
