#pragma once

// What the modules (base/module/module.h) use of Veche besides the public interface. In the library these
// symbols have the version VECHE_PRIVATE: they are for modules of the same build and for nobody else.
#define VECHE_MODULE_API __attribute__((visibility("default")))
