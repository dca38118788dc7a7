"""A small application over Redis, instrumented with OpenTelemetry."""
