"""Small applications that use Antecede."""
