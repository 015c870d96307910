// SPDX-License-Identifier: Apache-2.0
// This bridge without a library: see core/header_only.hpp.
#pragma once

#include <tenon/frameworks/gstreamer/header_only.hpp>
#include <tenon/frameworks/vaapi/header_only.hpp>

#include <tenon/bridges/gstreamer_vaapi/gstreamer_vaapi.cpp>
