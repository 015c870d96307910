// SPDX-License-Identifier: Apache-2.0
// All of the framework pipewire.
#pragma once

#include <tenon/frameworks/pipewire/context.hpp>
#include <tenon/frameworks/pipewire/format.hpp>
#include <tenon/frameworks/pipewire/input.hpp>
#include <tenon/frameworks/pipewire/output.hpp>
