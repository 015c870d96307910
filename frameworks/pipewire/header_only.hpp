// SPDX-License-Identifier: Apache-2.0
// This framework without a library: see core/header_only.hpp.
#pragma once

#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/cpu/header_only.hpp>
#include <tenon/frameworks/dmabuf/header_only.hpp>

#include <tenon/frameworks/pipewire/connection.cpp>
#include <tenon/frameworks/pipewire/context.cpp>
#include <tenon/frameworks/pipewire/cycles.cpp>
#include <tenon/frameworks/pipewire/format.cpp>
#include <tenon/frameworks/pipewire/input.cpp>
#include <tenon/frameworks/pipewire/offered.cpp>
#include <tenon/frameworks/pipewire/output.cpp>
