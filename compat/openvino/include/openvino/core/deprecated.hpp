// SPDX-License-Identifier: Apache-2.0
// Part of core_visibility.hpp.
#pragma once

#include "openvino/core/core_visibility.hpp"
