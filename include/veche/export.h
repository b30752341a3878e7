#pragma once

// What programs built on the library may use; everything else is hidden in it.
#define VECHE_API __attribute__((visibility("default")))
