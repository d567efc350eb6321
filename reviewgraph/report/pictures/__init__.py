"""Pictures as inline SVG: functions of arrays, which know neither results nor pages."""
