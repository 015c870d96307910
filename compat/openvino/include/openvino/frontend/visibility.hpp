// SPDX-License-Identifier: Apache-2.0
// Marks of what the library of front ends exports.
#pragma once

#include "openvino/core/core_visibility.hpp"

#define FRONTEND_API OPENVINO_API
#define FRONTEND_C_API OPENVINO_EXTENSION_C_API
