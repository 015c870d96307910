// SPDX-License-Identifier: Apache-2.0
// All extensions of front ends.
#pragma once

#include "openvino/frontend/extension/conversion.hpp"
