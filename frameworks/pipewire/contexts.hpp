// SPDX-License-Identifier: Apache-2.0
// The header in which the build looks for pipewire::contexts(), to make the module that the tool loads.
#pragma once

#include <tenon/frameworks/pipewire/context.hpp>  // IWYU pragma: export
