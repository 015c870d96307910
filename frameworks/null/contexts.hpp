// SPDX-License-Identifier: Apache-2.0
// The header in which the build looks for null::contexts(), to make the module that the tool loads.
#pragma once

#include <tenon/frameworks/null/null.hpp>  // IWYU pragma: export
