// SPDX-License-Identifier: Apache-2.0
// As context.h: there is no such tensor here.
#pragma once

#include "dlstreamer/d3d11/context.h"
